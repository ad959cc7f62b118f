import type { Submitted } from "../context/auditing.ts";
import { recovers, refusesFaults } from "../context/policy.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import { Signal } from "../context/signal.ts";
import type { MemoryProtection } from "../memory/memoryProtection.ts";
import { CommandRecord } from "../recording/commandRecord.ts";
import type { FilledRanges, UniformWords } from "../recording/filled.ts";
import type { UniformContents } from "../recording/uniformContents.ts";
import type { DeclaredUsages } from "../webgpu/declaredUsages.ts";
import type { ErrorScopes } from "../webgpu/errorScopes.ts";
import { flags, makeSilently } from "../webgpu/nativeObjects.ts";
import {
  type BufferRange,
  type GpuResource,
  isTexture,
  isWhole,
  type ResourceRange,
  type Textures,
} from "../webgpu/resources.ts";
import { DeferredDestruction } from "./deferredDestruction.ts";
import {
  acceptedEvents,
  type Epoch,
  equalBefore,
  type HostWrite,
  newEpoch,
  type QueueEvent,
  touchedBy,
  writtenBy,
} from "./epoch.ts";
import { type Contents, type SnapshotReport, Snapshots } from "./snapshots.ts";
import { Taints } from "./taints.ts";

const certainlyAccepted = Promise.resolve(true);

/**
 * The journal of unverified work: submitted commands, writes of the host, and the earlier contents
 * of resources. It can execute the work again. If `recoverable` is false, it keeps no earlier
 * contents. It also knows the tainted contents, withdraws work that the device rejects, and delays
 * the destruction of resources that unverified work needs.
 *
 * It saves every resource that a kernel can write, even if the kernel never reads it. A fault may
 * send stores of earlier kernels to any address.
 */
export class Journal {
  /** The contents that a fault may have reached. */
  readonly taints = new Taints();
  /** Emitted when a check would free memory. */
  readonly pressure = new Signal();
  readonly #device: GPUDevice;
  /** True if data that could not be verified is refused. */
  readonly #refuses: boolean;
  #recoverable: boolean;
  readonly #budget: number;
  readonly #closed: Epoch[] = [];
  #open: Epoch = newEpoch();
  #counted: Promise<void> = Promise.resolve();
  readonly #snapshots: Snapshots;
  readonly #filled: FilledRanges;
  readonly #uniforms: UniformContents;
  readonly #textures: Textures;
  readonly #usages: DeclaredUsages;
  readonly #memory: MemoryProtection;
  readonly #scopes: ErrorScopes;
  readonly #destruction: DeferredDestruction;
  /** The command buffers that were submitted in place of the program's. */
  readonly #substitutes = new WeakMap<GPUCommandBuffer, GPUCommandBuffer>();

  constructor(context: RuntimeContext, memory: MemoryProtection, filled: FilledRanges) {
    const { device, policy, textures, usages, scopes } = context;
    this.#filled = filled;
    this.#uniforms = filled.uniforms;
    this.#device = device;
    this.#budget = policy.snapshotBytes;
    this.#snapshots = new Snapshots(device, memory, policy.snapshotBytes);
    this.#textures = textures;
    this.#usages = usages;
    this.#memory = memory;
    this.#scopes = scopes;
    this.#refuses = refusesFaults(policy);
    this.#recoverable = recovers(policy);
    const isNeeded = (resource: GpuResource) => this.recoverable && this.#isTouched(resource);
    const leaving = (resource: GpuResource) => {
      if (!isTexture(resource)) memory.leave(resource);
    };
    // Work that the program submits at once is part of the same epoch.
    const onDeferred = () => queueMicrotask(() => this.pressure.emit());
    this.#destruction = new DeferredDestruction(device, isNeeded, leaving, onDeferred);
    // No commands can use a buffer while it is mapped.
    memory.mappedWrites.subscribe((range) => {
      this.#recordWrite(range.buffer, range);
      this.#uniforms.forget(range.buffer);
    });
  }

  /**
   * True if unverified work can be executed again, once earlier work is verified. This is so under
   * a policy that recovers from faults. Otherwise it becomes so with the first kernel whose
   * replicas wait for each other: a wait that runs out is no fault.
   */
  get recoverable(): boolean {
    return this.#recoverable;
  }

  /** The unverified epochs, oldest first. The last one is open. */
  get #epochs(): readonly Epoch[] {
    return [...this.#closed, this.#open];
  }

  get openEvents(): number {
    return this.#open.events.length + this.#open.unchecked.length;
  }

  /** True if snapshots use more than half of their budget. */
  get isNearBudget(): boolean {
    return this.#snapshots.used > this.#budget / 2;
  }

  /** The number of epochs whose check has begun and not ended. */
  get closedEpochs(): number {
    return this.#closed.length;
  }

  /** The number of unverified events that are known to be rejected. */
  get rejections(): number {
    return this.#epochs.reduce((sum, { rejected }) => sum + rejected.size, 0);
  }

  /** Resolves when the dispatches of all calls so far are counted. */
  get counted(): Promise<void> {
    return this.#counted;
  }

  /** Resolves when it is known which unverified events the device accepted. */
  async settled(): Promise<void> {
    await Promise.all(this.#epochs.flatMap(({ acceptances }) => acceptances));
  }

  get snapshots(): SnapshotReport {
    return this.#snapshots.report;
  }

  /** The reason why unverified work cannot be executed again, if there is one. */
  get obstacle(): string | undefined {
    return this.#obstacleIn(this.#epochs);
  }

  /**
   * Creates a buffer that can be saved and restored. It outlives the program's `destroy` while
   * unverified work may need it.
   */
  createBuffer(descriptor: GPUBufferDescriptor): GPUBuffer {
    const buffer = this.#usages.createBuffer(descriptor, this.#memory.allocationOf(descriptor));
    this.#memory.protect(buffer, descriptor, this.#usages.isVerified(buffer));
    const isMapped = descriptor.mappedAtCreation === true;
    if (!isMapped) this.#snapshots.recordCreation(buffer);
    this.#uniforms.recordCreation(buffer, isMapped);
    this.#destruction.follow(buffer);
    return buffer;
  }

  /** Creates a texture that can be saved and restored, like `createBuffer`. */
  createTexture(descriptor: GPUTextureDescriptor): GPUTexture {
    const texture = this.#usages.createTexture(descriptor);
    if ((descriptor.usage & flags.transientAttachment) === 0) {
      this.#snapshots.recordCreation(texture);
      this.#destruction.follow(texture);
    }
    this.#textures.follow(texture);
    return texture;
  }

  /**
   * Returns a destroyed resource in place of one that the program has destroyed and unverified work
   * needs; else undefined. A use of it gives the error that the program expects.
   */
  destroyedTwin<T extends GpuResource>(resource: T): T | undefined {
    return this.#destruction.twinOf(resource);
  }

  /**
   * Returns commands that use resources which the program has destroyed and unverified work needs.
   * The device rejects a submission with them, as it would the program's own use.
   */
  usesOfDestroyed(records: readonly (CommandRecord | undefined)[]): readonly GPUCommandBuffer[] {
    return this.#destruction.usesIn(records);
  }

  /**
   * Saves the resources that commands overwrite, and then calls `call` to submit the commands, or
   * others in place of some. An undefined record stands for unknown commands.
   */
  submit(
    commands: readonly GPUCommandBuffer[],
    records: readonly (CommandRecord | undefined)[],
    call: (commands: readonly GPUCommandBuffer[]) => void,
  ): Submitted {
    if (!this.#recoverable && this.#refuses && records.some((record) => record?.hasWaits)) {
      // Nothing was saved for the open epoch, so it is checked alone.
      this.pressure.emit();
      this.#recoverable = true;
    }
    if (records.includes(undefined)) this.#snapshots.discardAdvance();
    const words = new WordsBefore(records, this.#uniforms);
    const accepted = this.#isChecked(records)
      ? this.#submitChecked(commands, records, words, call)
      : this.#submitUnchecked(records, words, () => call(commands));
    words.forgetWritten();
    return { accepted, epoch: this.openEvents > 0 ? this.#open : undefined };
  }

  #submitChecked(
    commands: readonly GPUCommandBuffer[],
    records: readonly (CommandRecord | undefined)[],
    words: UniformWords,
    call: (commands: readonly GPUCommandBuffer[]) => void,
  ): Promise<boolean> {
    const isDecidable = (record: CommandRecord | undefined, i: number) =>
      record?.sums !== undefined && (!record.isSubmitted || this.#substitutes.has(commands[i]!));
    const decidable = records.map(isDecidable);
    const { unfollowed, events } = this.#open;
    const before = events.length;
    for (const record of records) record?.findFilled(this.#filled, words);
    const isAccepted = this.#willAccept(records);
    for (const each of records) {
      const record = each ?? unknownCommands();
      const event = { record };
      // A loop may submit the same thousands of times before a check ends.
      const equal = isAccepted ? equalBefore(this.#open, event) : undefined;
      events.push(equal ?? event);
      // What equal commands write is saved already.
      if (equal) continue;
      record.trim();
      if (this.recoverable) this.#save(event, record.written, this.#overwrittenBy(record));
      unfollowed.push(event);
    }
    const submitted = events.slice(before);
    const own = commands.map((each, i) => (decidable[i] ? this.#decided(each, submitted[i]!) : each));
    if (isAccepted && own.every((each, i) => each === commands[i])) {
      call(commands);
      for (const record of records) record?.accept();
      return certainlyAccepted;
    }
    return this.#watch(() => call(own), submitted);
  }

  /**
   * Returns commands to submit in place of those of an event with checked dispatches. If the open
   * epoch cannot be executed again, the device decides about the dispatches at once, by the
   * commands that later executions have.
   */
  #decided(commands: GPUCommandBuffer, event: QueueEvent): GPUCommandBuffer {
    if (!("record" in event) || event.record.isInPass || event.record.obstacle !== undefined) return commands;
    const { events, withoutRoom, decided } = this.#open;
    const isObstacle = (each: QueueEvent) =>
      ("record" in each ? each.record.obstacle : each.obstacle) !== undefined;
    const known = this.#substitutes.get(commands);
    if (!known && withoutRoom.size === 0 && !events.some(isObstacle)) return commands;
    decided.add(event);
    const { record } = event;
    const made = known ?? makeSilently(this.#device, () => this.#encodeAgain(record, commands)).made;
    this.#substitutes.set(commands, made);
    return made;
  }

  /** Returns whether it is known that the device accepts commands. They need no error scope. */
  #willAccept(records: readonly (CommandRecord | undefined)[]): boolean {
    let isKnown = true;
    for (const record of records) {
      isKnown &&= record !== undefined && !record.isSubmitted && record.isFamiliar;
      isKnown &&= !record!.touchesSome(this.#destruction.isDestroyed, this.#destruction.areAlive);
      if (record) record.isSubmitted = true;
    }
    return isKnown;
  }

  /**
   * Returns whether these commands may have to be executed again. They may if a check can find a
   * fault in them, or in unverified work before them.
   */
  #isChecked(records: readonly (CommandRecord | undefined)[]): boolean {
    const isBefore = this.#open.events.length > 0 || this.#closed.length > 0;
    return isBefore || this.#memory.canFindDamage || records.some((record) => record?.isProtected);
  }

  /** Returns whether commands cannot need the earlier contents of a resource that they write. */
  #overwrittenBy(record: CommandRecord): (resource: GpuResource) => boolean {
    const filled = this.#memory.overwritten(record);
    return (resource) => record.replaced.has(resource) || filled.has(resource);
  }

  /** Calls `call` to submit commands that are not executed again. */
  #submitUnchecked(
    records: readonly (CommandRecord | undefined)[],
    words: UniformWords,
    call: () => void,
  ): Promise<boolean> {
    const events: QueueEvent[] = [];
    for (const record of records) {
      if (!record) continue;
      if (this.taints.isUsed) record.findFilled(this.#filled, words);
      for (const resource of record.written) this.#snapshots.recordWrite(resource);
      events.push({ record });
    }
    // A taint from earlier work spreads through these commands.
    if (this.taints.isUsed) this.#open.unchecked.push(...events);
    if (this.#willAccept(records)) {
      call();
      for (const record of records) record?.accept();
      return certainlyAccepted;
    }
    return this.#watch(call, events);
  }

  /**
   * Records a write of the host to a texture, and calls `call` to make it. `again` returns a
   * function that repeats the write. It copies the data, as the program may change its own later.
   */
  writeTexture(target: GPUTexture, whole: boolean, call: () => void, again?: () => () => void): void {
    const event = this.#recordWrite(target, whole ? target : undefined, again);
    if (event) void this.#watch(call, [event]);
    else call();
  }

  /**
   * Records a write of the host to a buffer range. Call it before the write, which the device must
   * accept. `write` repeats it. The data is copied, as the program may change its own later.
   */
  recordBufferWrite(
    range: BufferRange,
    bytes: Uint8Array,
    write: (bytes: Uint8Array<ArrayBuffer>) => void,
  ): void {
    // Libraries write the same arguments for each dispatch. The buffer has them after re-execution
    // too, as no command has written it.
    const changesNothing = !this.#memory.canFindDamage && this.#uniforms.has(range, bytes);
    if (changesNothing && this.taints.of(range.buffer) === undefined) return;
    this.#recordWrite(range.buffer, range, () => {
      const copy = bytes.slice();
      return () => write(copy);
    });
    this.#uniforms.recordWrite(range, bytes);
  }

  /** Returns no event if nothing depends on the write. */
  #recordWrite(
    target: GpuResource,
    filled: ResourceRange | undefined,
    again?: () => () => void,
  ): HostWrite | undefined {
    // If no unverified work touches the resource, re-execution does not undo the write, so it need
    // not be repeated.
    const isTouched = this.#isTouched(target);
    const kept = this.recoverable && isTouched;
    if (!kept) this.#snapshots.recordWrite(target);
    // Such work cannot make the resource wrong either. A check that has begun may still find its
    // memory damaged.
    const canBeDamaged = this.#memory.canFindDamage && this.#closed.length > 0;
    if (!isTouched && !canBeDamaged && this.taints.of(target) === undefined) return;
    // The data is copied only if the write may have to be repeated.
    const repeated = () =>
      again
        ? { again: again() }
        : { obstacle: "it needs a texture that the host filled from an external image" };
    const event: HostWrite = { target, replaced: filled, ...(kept && repeated()) };
    if (kept) {
      this.#save(event, [target], () => filled !== undefined && isWhole(filled));
      touchedBy(this.#open).add(target);
    }
    this.#open.events.push(event);
    return event;
  }

  /** Calls `call`, which makes the events, and records whether the device accepts it. */
  #watch(call: () => void, events: readonly QueueEvent[]): Promise<boolean> {
    const epoch = this.#open;
    const accept = () => {
      for (const event of events) if ("record" in event) event.record.accept();
    };
    const reject = () => {
      for (const event of events) epoch.rejected.add(event);
    };
    let accepted: Promise<boolean>;
    try {
      accepted = this.#scopes.watch(call);
    } catch (error) {
      reject();
      throw error;
    }
    const settled = accepted.then((isAccepted) => (isAccepted ? accept() : reject()));
    this.#counted = settled;
    // Without open events, no check waits for this one.
    if (this.openEvents > 0) epoch.acceptances.push(settled);
    return accepted;
  }

  /** Ends the open epoch and begins the next. */
  close(): Epoch {
    const epoch = this.#open;
    this.#closed.push(epoch);
    this.#open = newEpoch();
    return epoch;
  }

  /**
   * Copies what a closed epoch has overwritten, as the next one is likely to overwrite it again.
   * Call it before other work is submitted.
   */
  saveInAdvance({ contentsBefore }: Epoch): void {
    if (contentsBefore.size > 0) this.#snapshots.saveInAdvance(contentsBefore.keys());
  }

  /** Ends the open epoch and returns all unverified epochs, oldest first. */
  closeAll(): readonly Epoch[] {
    this.close();
    return [...this.#closed];
  }

  /** Removes verified epochs and their snapshots. */
  forget(epochs: Iterable<Epoch>): void {
    for (const epoch of epochs) {
      this.#closed.splice(this.#closed.indexOf(epoch), 1);
      this.#snapshots.release(epoch.contentsBefore.values());
    }
    this.#destruction.destroyUnneeded();
  }

  /**
   * Restores the contents from before the oldest unverified epoch, and executes all unverified
   * epochs again. Resolves to true if the device accepted all of it. Calls `between` after
   * restoring, and `follow` with each new encoder.
   */
  replay(
    epochs: readonly Epoch[],
    between: () => void,
    follow?: (encoder: GPUCommandEncoder) => void,
  ): Promise<boolean> {
    const repeated = acceptedEvents(epochs);
    this.#snapshots.discardAdvance();
    const { failed } = makeSilently(this.#device, () => {
      this.#snapshots.restore(contentsBefore(epochs));
      between();
      for (const event of repeated) this.#repeat(event, follow);
    });
    return this.#isAccepted(epochs, repeated, failed);
  }

  async #isAccepted(
    epochs: readonly Epoch[],
    repeated: readonly QueueEvent[],
    failed: Promise<GPUError | null>,
  ): Promise<boolean> {
    await Promise.all(epochs.flatMap(({ acceptances }) => acceptances));
    if ((await failed) || this.#obstacleIn(epochs) !== undefined) return false;
    return !repeated.some((event) => epochs.some(({ rejected }) => rejected.has(event)));
  }

  #repeat(event: QueueEvent, follow?: (encoder: GPUCommandEncoder) => void): void {
    if (!("record" in event)) {
      event.again?.();
      return;
    }
    const { record } = event;
    const commands = this.#encodeAgain(record, { label: "belay: run again" }, follow);
    this.#device.queue.submit(this.#memory.withUpdates([commands], [record]));
  }

  /** Encodes the commands of a record again, with this label. Calls `follow` with the encoder. */
  #encodeAgain(
    record: CommandRecord,
    { label }: Pick<GPUCommandBuffer, "label">,
    follow?: (encoder: GPUCommandEncoder) => void,
  ): GPUCommandBuffer {
    const encoder = this.#device.createCommandEncoder();
    follow?.(encoder);
    record.encodeIn(encoder);
    return encoder.finish({ label });
  }

  /** Returns whether unverified work writes a resource. */
  isWritten(resource: GpuResource): boolean {
    const events = this.#epochs.flatMap((epoch) => epoch.events);
    return events.some((event) => writtenBy(event).has(resource));
  }

  #isTouched(resource: GpuResource): boolean {
    return touchedBy(this.#open).has(resource) || this.#closed.some((each) => touchedBy(each).has(resource));
  }

  /**
   * Saves the contents of resources that an event is about to write. Skips resources that the open
   * epoch has saved, or that nothing can need.
   */
  #save(
    event: QueueEvent,
    written: Iterable<GpuResource>,
    isReplaced: (resource: GpuResource) => boolean,
  ): void {
    const epoch = this.#open;
    const resources: GpuResource[] = [];
    for (const resource of written) {
      if (epoch.contentsBefore.has(resource) || this.#textures.isShown(resource)) continue;
      // The device rejects the copy of a destroyed resource, and with it all other copies.
      if (this.#destruction.isDestroyed(resource)) continue;
      // The GPU never reads a buffer for reading back. Re-execution writes the same to it again.
      if (!isTexture(resource) && resource.usage & flags.bufferMapRead) continue;
      const isRead = () =>
        this.#epochs.some((each) => touchedBy(each).has(resource) && !each.contentsBefore.has(resource));
      if (isReplaced(resource) && !isRead()) {
        this.#snapshots.recordWrite(resource);
        epoch.contentsBefore.set(resource, "replaced");
        continue;
      }
      const bytes = isTexture(resource) ? undefined : this.#uniforms.copyOf(resource);
      if (bytes) {
        this.#snapshots.recordWrite(resource);
        epoch.contentsBefore.set(resource, bytes);
      } else {
        resources.push(resource);
      }
    }
    if (resources.length === 0) return;
    const failed = this.#snapshots.save(resources, epoch.contentsBefore);
    if (failed === "noRoom") {
      const reason = `its snapshots need more GPU memory than snapshotBytes, which is ${this.#budget}`;
      epoch.withoutRoom.set(event, reason);
      return;
    }
    const saved = failed?.then((error) => {
      if (error) for (const resource of resources) epoch.unsaved.set(resource, error.message);
    });
    if (saved) epoch.acceptances.push(saved);
  }

  /** Returns the reason why epochs cannot be executed again, if there is one. */
  #obstacleIn(epochs: readonly Epoch[]): string | undefined {
    for (const epoch of epochs) {
      for (const event of acceptedEvents([epoch])) {
        const obstacle = this.#obstacleOf(event, epoch);
        if (obstacle !== undefined) return obstacle;
      }
    }
    const events = acceptedEvents(epochs);
    for (const [resource, contents] of contentsBefore(epochs)) {
      const first = events.find((event) => touches(event, resource));
      if (contents === "replaced" && first && !this.#overwrites(first, resource))
        return "the device rejected a command that would have replaced data";
    }
    return undefined;
  }

  #obstacleOf(event: QueueEvent, { unsaved, withoutRoom }: Epoch): string | undefined {
    const { obstacle = withoutRoom.get(event) } = "record" in event ? event.record : event;
    if (obstacle !== undefined) return obstacle;
    if ("record" in event && event.record.touchesSome(this.#destruction.isDestroyed))
      return "it needs a resource that is destroyed";
    for (const resource of writtenBy(event)) {
      const error = unsaved.get(resource);
      if (error !== undefined) return `the data that it overwrites could not be saved: ${error}`;
    }
    return undefined;
  }

  /** Returns whether an event overwrites a resource completely before any other use. */
  #overwrites(event: QueueEvent, resource: GpuResource): boolean {
    if ("record" in event) return this.#overwrittenBy(event.record)(resource);
    return event.replaced !== undefined && isWhole(event.replaced);
  }
}

/** The contents of uniform buffers that none of some commands writes. */
class WordsBefore implements UniformWords {
  readonly #uniforms: UniformContents;
  readonly #written = new Set<GPUBuffer>();
  /** True if it is not known what some commands write. */
  readonly #isUnknown: boolean;

  constructor(records: readonly (CommandRecord | undefined)[], uniforms: UniformContents) {
    this.#uniforms = uniforms;
    for (const record of records) record?.addWrittenUniforms(this.#written);
    this.#isUnknown = records.includes(undefined);
  }

  /** Records that the commands are submitted. */
  forgetWritten(): void {
    if (this.#isUnknown) this.#uniforms.forgetAll();
    for (const buffer of this.#written) this.#uniforms.forget(buffer);
  }

  wordAt(range: BufferRange, byte: number): number | undefined {
    return this.#isWritten(range.buffer) ? undefined : this.#uniforms.wordAt(range, byte);
  }

  versionOf(buffer: GPUBuffer): number | undefined {
    return this.#isWritten(buffer) ? undefined : this.#uniforms.versionOf(buffer);
  }

  #isWritten(buffer: GPUBuffer): boolean {
    return this.#isUnknown || this.#written.has(buffer);
  }
}

/** Returns a record that stands for commands that the hardened device did not record. */
function unknownCommands(): CommandRecord {
  const record = new CommandRecord();
  record.obstacle = "it has commands that the hardened device did not record";
  return record;
}

/**
 * Returns the contents of resources from before accepted events wrote them. Rejected events changed
 * nothing. Of several contents of a resource, only the oldest are certainly free of a fault.
 */
function contentsBefore(epochs: readonly Epoch[]): ReadonlyMap<GpuResource, Contents> {
  const saved = epochs.flatMap((epoch) => {
    const written = new Set(acceptedEvents([epoch]).flatMap((event) => [...writtenBy(event)]));
    return [...epoch.contentsBefore].filter(([resource]) => written.has(resource));
  });
  return new Map(saved.reverse());
}

/** Returns whether executing an event again uses a resource. */
function touches(event: QueueEvent, resource: GpuResource): boolean {
  if (!("record" in event)) return event.again !== undefined && event.target === resource;
  return event.record.read.has(resource) || event.record.written.has(resource);
}

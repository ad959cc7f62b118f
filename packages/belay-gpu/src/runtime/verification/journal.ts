import { recovers } from "../context/policy.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import { Signal } from "../context/signal.ts";
import type { MemoryProtection } from "../memory/memoryProtection.ts";
import type { CommandRecord } from "../recording/commandRecord.ts";
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
import { type Epoch, type HostWrite, newEpoch, type QueueEvent } from "./epoch.ts";
import { type SnapshotReport, Snapshots } from "./snapshots.ts";
import { Taints } from "./taints.ts";

/**
 * Everything on the queue that is not verified yet, and the means to run it again: what was
 * submitted, what the host wrote, and what buffers and textures held before. Keeps nothing of the
 * past when `recoverable` is false.
 *
 * Whatever a kernel can write is saved, even where it only writes: a fault before it can have sent
 * its stores anywhere.
 */
export class Journal {
  /** The contents that a fault may have reached. */
  readonly taints = new Taints();
  /** Emitted when a check would free memory. */
  readonly pressure = new Signal();
  readonly #device: GPUDevice;
  /** Whether unverified work can be run again at all. */
  readonly recoverable: boolean;
  readonly #closed: Epoch[] = [];
  #open: Epoch = newEpoch();
  readonly #snapshots: Snapshots;
  readonly #textures: Textures;
  readonly #usages: DeclaredUsages;
  readonly #memory: MemoryProtection;
  readonly #scopes: ErrorScopes;
  readonly #destruction: DeferredDestruction;

  constructor(context: RuntimeContext, memory: MemoryProtection) {
    const { device, policy, textures, usages, scopes } = context;
    this.#device = device;
    this.#snapshots = new Snapshots(device, memory);
    this.#textures = textures;
    this.#usages = usages;
    this.#memory = memory;
    this.#scopes = scopes;
    this.recoverable = recovers(policy);
    const isNeeded = (resource: GpuResource) => this.#isTouched(resource);
    this.#destruction = new DeferredDestruction(isNeeded, () => this.pressure.emit());
    // No commands can use a buffer while it is mapped.
    memory.mappedWrites.subscribe((range) => this.#recordWrite(range.buffer, range));
  }

  /** Unverified epochs, oldest first, the open one last. */
  get #epochs(): readonly Epoch[] {
    return [...this.#closed, this.#open];
  }

  get openEvents(): number {
    return this.#open.events.length;
  }

  /** Epochs whose check has begun and not ended. */
  get closedEpochs(): number {
    return this.#closed.length;
  }

  /** How much of the unverified work is known to have been refused. */
  get refusals(): number {
    return this.#epochs.reduce((sum, { refused }) => sum + refused.size, 0);
  }

  get snapshots(): SnapshotReport {
    return this.#snapshots.report;
  }

  /** Why unverified work cannot be run again, if so. */
  get obstacle(): string | undefined {
    for (const epoch of this.#epochs) {
      const obstacle = obstacleOf(epoch);
      if (obstacle !== undefined) return obstacle;
    }
    return undefined;
  }

  /**
   * Makes a buffer that can be saved and restored. What unverified work may need survives the
   * program's `destroy`.
   */
  createBuffer(descriptor: GPUBufferDescriptor): GPUBuffer {
    const buffer = this.#usages.createBuffer(descriptor, this.#memory.allocationOf(descriptor));
    this.#memory.protect(buffer, descriptor, this.#usages.isVerified(buffer));
    if (!descriptor.mappedAtCreation) this.#snapshots.made(buffer);
    if (this.recoverable) this.#destruction.keep(buffer);
    return buffer;
  }

  /** As `createBuffer`, for textures. */
  createTexture(descriptor: GPUTextureDescriptor): GPUTexture {
    const texture = this.#usages.createTexture(descriptor);
    if ((descriptor.usage & flags.transientAttachment) === 0) {
      this.#snapshots.made(texture);
      if (this.recoverable) this.#destruction.keep(texture);
    }
    this.#textures.follow(texture);
    return texture;
  }

  /**
   * Call before the program uses a resource: when it has destroyed it, the error has to come out.
   */
  using(resource: GpuResource): void {
    if (!this.#destruction.finish(resource)) return;
    for (const epoch of this.#epochs) {
      if (epoch.touched.has(resource)) epoch.obstacle = "a resource it needs is destroyed";
    }
  }

  /**
   * Submits commands by a call, once it has saved what they overwrite. Undefined stands for unknown
   * commands.
   */
  submit(records: readonly (CommandRecord | undefined)[], call: () => void): void {
    const events: QueueEvent[] = [];
    const replaced: GpuResource[] = [];
    for (const record of records) {
      if (!record) {
        this.#open.obstacle = "it holds commands from elsewhere";
        continue;
      }
      for (const resource of record.touched()) this.using(resource);
      if (this.recoverable) replaced.push(...this.#save(record.written, record.replaced));
      for (const resource of record.touched()) this.#open.touched.add(resource);
      events.push({ record });
    }
    this.#open.events.push(...events);
    this.#watch(call, events, replaced);
  }

  /**
   * Has the host write to a texture by a call. `again` makes what writes the same later, when the
   * program may have changed its data.
   */
  writeTexture(target: GPUTexture, whole: boolean, call: () => void, again?: () => () => void): void {
    const { event, replaced } = this.#recordWrite(target, whole ? target : undefined, again);
    if (event) this.#watch(call, [event], replaced);
    else call();
  }

  /**
   * Call before the host writes to a part of a buffer what the device is known to accept; `again`
   * as for textures.
   */
  writingBuffer(range: BufferRange, again: () => () => void): void {
    this.#recordWrite(range.buffer, range, again);
  }

  /** The event is absent where nothing depends on it. */
  #recordWrite(target: GpuResource, filled: ResourceRange | undefined, again?: () => () => void) {
    this.using(target);
    // What no unverified work touches is not undone when that work is, so it need not be kept.
    const isTouched = this.#isTouched(target);
    const kept = this.recoverable && isTouched;
    if (!kept) this.#snapshots.changed(target);
    // Nor can that work make it wrong. A check that has begun may still find its memory damaged.
    const canBeDamaged = this.#memory.canFindDamage && this.#closed.length > 0;
    if (!isTouched && !canBeDamaged && this.taints.of(target) === undefined) return { replaced: [] };
    const targets = new Set([target]);
    const replaced = kept ? this.#save(targets, filled && isWhole(filled) ? targets : new Set()) : [];
    if (kept && !again) this.#open.obstacle = "the host filled a texture it needs from elsewhere";
    const event: HostWrite = { target, replaced: filled, ...(kept && again && { again: again() }) };
    this.#open.events.push(event);
    if (kept) this.#open.touched.add(target);
    return { event, replaced };
  }

  /**
   * Makes the call that events are about, of which `replaced` was not saved, and learns whether the
   * device accepts it.
   */
  #watch(call: () => void, events: readonly QueueEvent[], replaced: readonly GpuResource[]): void {
    const epoch = this.#open;
    const refuse = () => {
      for (const event of events) epoch.refused.add(event);
      if (replaced.length > 0) epoch.obstacle = "what would have replaced data was refused";
    };
    let accepted: Promise<boolean>;
    try {
      accepted = this.#scopes.watch(call);
    } catch (error) {
      refuse();
      throw error;
    }
    epoch.answers.push(accepted.then((isAccepted) => (isAccepted ? countDispatches(events) : refuse())));
  }

  /** Ends the open epoch and begins the next. */
  close(): Epoch {
    const epoch = this.#open;
    this.#closed.push(epoch);
    this.#open = newEpoch();
    return epoch;
  }

  /** Ends the open epoch and returns all that is unverified, oldest first. */
  closeAll(): readonly Epoch[] {
    this.close();
    return [...this.#closed];
  }

  /** Forgets verified epochs. */
  forget(epochs: Iterable<Epoch>): void {
    for (const epoch of epochs) {
      this.#closed.splice(this.#closed.indexOf(epoch), 1);
      this.#snapshots.release(epoch.past.values());
    }
    this.#destruction.finishUnneeded();
  }

  /**
   * Puts everything back to what it was before the oldest unverified epoch and runs all unverified
   * epochs again. Returns whether the device accepted that, which is known later. `follow` gets
   * each encoder before it encodes commands again.
   */
  replay(
    epochs: readonly Epoch[],
    between: () => void,
    follow?: (encoder: GPUCommandEncoder) => void,
  ): Promise<boolean> {
    const repeated = epochs.flatMap(({ events, refused }) => events.filter((event) => !refused.has(event)));
    const { failed } = makeSilently(this.#device, () => {
      // The oldest snapshot of a resource is the one that no fault can have touched.
      this.#snapshots.restore(epochs.flatMap(({ past }) => [...past]));
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
    await Promise.all(epochs.flatMap(({ answers }) => answers));
    if ((await failed) || epochs.some((epoch) => obstacleOf(epoch) !== undefined)) return false;
    return !repeated.some((event) => epochs.some(({ refused }) => refused.has(event)));
  }

  #repeat(event: QueueEvent, follow?: (encoder: GPUCommandEncoder) => void): void {
    if (!("record" in event)) {
      event.again?.();
      return;
    }
    const { record } = event;
    const encoder = this.#device.createCommandEncoder({ label: "belay: run again" });
    follow?.(encoder);
    for (const step of record.steps) step(encoder);
    const commands = encoder.finish();
    this.#device.queue.submit(this.#memory.withUpdates([commands], [record]));
  }

  /** Returns whether unverified work writes a resource. */
  isWritten(resource: GpuResource): boolean {
    const events = this.#epochs.flatMap((epoch) => epoch.events);
    return events.some((event) =>
      "record" in event ? event.record.written.has(resource) : event.target === resource,
    );
  }

  #isTouched(resource: GpuResource): boolean {
    if (this.#open.touched.has(resource)) return true;
    return this.#closed.some(({ touched }) => touched.has(resource));
  }

  /**
   * Saves what is about to be written as it is now, unless the open epoch has done so or nothing
   * can need it. Returns what was not saved as it is about to be replaced.
   */
  #save(written: Iterable<GpuResource>, replaced: ReadonlySet<GpuResource>): readonly GpuResource[] {
    const epoch = this.#open;
    const unsaved: GpuResource[] = [];
    const resources: GpuResource[] = [];
    for (const resource of written) {
      if (epoch.past.has(resource) || this.#textures.isShown(resource)) continue;
      // A buffer for reading back is never read by the GPU: running again writes it as before.
      if (!isTexture(resource) && resource.usage & flags.bufferMapRead) continue;
      const isRead = this.#epochs.some(({ touched, past }) => touched.has(resource) && !past.has(resource));
      if (replaced.has(resource) && !isRead) {
        this.#snapshots.changed(resource);
        epoch.past.set(resource, "replaced");
        unsaved.push(resource);
      } else {
        resources.push(resource);
      }
    }
    const failed = resources.length > 0 ? this.#snapshots.save(resources, epoch.past) : undefined;
    const saved = failed?.then((error) => {
      if (error) epoch.obstacle = `what it overwrites could not be saved: ${error.message}`;
    });
    if (saved) epoch.answers.push(saved);
    return unsaved;
  }
}

/** Counts the dispatches of what the device has accepted. */
function countDispatches(events: readonly QueueEvent[]): void {
  for (const event of events) {
    if (!("record" in event)) continue;
    for (const [runs, count] of event.record.dispatches) runs.dispatches += count;
  }
}

/** Why an epoch cannot be run again, if so. */
function obstacleOf({ obstacle, events, refused }: Epoch): string | undefined {
  if (obstacle !== undefined) return obstacle;
  for (const event of events) {
    if ("record" in event && event.record.obstacle !== undefined && !refused.has(event))
      return event.record.obstacle;
  }
  return undefined;
}

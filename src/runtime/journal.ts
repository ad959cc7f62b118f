import { CommandRecord } from "./commandRecord.ts";
import type { DeclaredUsages } from "./declaredUsages.ts";
import { DeferredDestruction } from "./deferredDestruction.ts";
import { type Epoch, newEpoch, type QueueEvent } from "./epoch.ts";
import type { Memory } from "./memory/memory.ts";
import { flags, makeSilently } from "./nativeObjects.ts";
import { isTexture, type Resource, type Textures } from "./resources.ts";
import { type SnapshotReport, Snapshots } from "./snapshots.ts";

/**
 * Everything on the queue that is not verified yet, and the means to run it again: what was submitted, what the host
 * wrote, and what buffers and textures held before. Keeps nothing of the past when `recoverable` is false.
 *
 * Whatever a kernel can write is saved, even where it only writes: a fault before it can have sent its stores anywhere.
 */
export class Journal {
  readonly #device: GPUDevice;
  /** Whether unverified work can be run again at all. */
  readonly recoverable: boolean;
  readonly #closed: Epoch[] = [];
  #open: Epoch = newEpoch();
  readonly #snapshots: Snapshots;
  readonly #textures: Textures;
  readonly #usages: DeclaredUsages;
  readonly #memory: Memory | undefined;
  readonly #destruction: DeferredDestruction;

  /** `wantCheck` is called when a check would free memory. */
  constructor(
    device: GPUDevice,
    textures: Textures,
    usages: DeclaredUsages,
    memory: Memory | undefined,
    recoverable: boolean,
    wantCheck: () => void,
  ) {
    this.#device = device;
    this.#snapshots = new Snapshots(device, (buffer) => memory?.checksOf(buffer));
    this.#textures = textures;
    this.#usages = usages;
    this.#memory = memory;
    this.recoverable = recoverable;
    this.#destruction = new DeferredDestruction((resource) => this.#isTouched(resource), wantCheck);
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

  get snapshots(): SnapshotReport {
    return this.#snapshots.report;
  }

  /** Why unverified work cannot be run again, if so. */
  get obstacle(): string | undefined {
    return this.#epochs.find(({ obstacle }) => obstacle !== undefined)?.obstacle;
  }

  /** Makes a buffer that can be saved and restored. What unverified work may need survives the program's `destroy`. */
  createBuffer(descriptor: GPUBufferDescriptor): GPUBuffer {
    const buffer = this.#usages.createBuffer(descriptor);
    this.#memory?.protect(buffer, descriptor, this.#usages.isVerified(buffer));
    if (!descriptor.mappedAtCreation) this.#snapshots.made(buffer);
    if (this.recoverable) this.#destruction.keep(buffer);
    return buffer;
  }

  /** As `createBuffer`, for textures. */
  createTexture(descriptor: GPUTextureDescriptor): GPUTexture {
    const texture = this.#usages.createTexture(descriptor);
    if (descriptor.usage & flags.transientAttachment) return texture;
    this.#snapshots.made(texture);
    if (this.recoverable) this.#destruction.keep(texture);
    return texture;
  }

  /** Call before the program uses a resource: when it has destroyed it, the error has to come out. */
  using(resource: Resource): void {
    if (!this.#destruction.finish(resource)) return;
    for (const epoch of this.#epochs) {
      if (epoch.touched.has(resource)) epoch.obstacle = "a resource it needs is destroyed";
    }
  }

  /** Call before submitting commands: saves what they are going to overwrite. Undefined stands for unknown commands. */
  submitting(records: readonly (CommandRecord | undefined)[]): void {
    for (const record of records) {
      if (!record) {
        this.#open.obstacle = "it holds commands from elsewhere";
        continue;
      }
      for (const resource of record.touched()) this.using(resource);
      if (record.obstacle) this.#open.obstacle = record.obstacle;
      for (const [kernel, count] of record.dispatches) kernel.dispatches += count;
      if (this.recoverable) this.#save(record.written, record.replaced);
      for (const resource of record.touched()) this.#open.touched.add(resource);
      this.#open.events.push(record);
    }
  }

  /** Call before the host writes; `again` makes what writes the same later, when the program may have changed its data. */
  writing(target: Resource, whole: boolean, again?: () => () => void): void {
    this.using(target);
    // What no unverified work touches is not undone when that work is, so it need not be kept.
    const kept = this.recoverable && this.#isTouched(target);
    if (!kept) {
      this.#snapshots.changed(target);
      if (whole) this.#open.events.push({ target, whole });
      return;
    }
    const targets = new Set([target]);
    this.#save(targets, whole ? targets : new Set());
    if (!again) this.#open.obstacle = "the host filled a texture it needs from elsewhere";
    this.#open.events.push({ target, whole, ...(again && { again: again() }) });
    this.#open.touched.add(target);
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
   * Puts everything back to what it was before the oldest unverified epoch and runs all unverified epochs again.
   * Returns whether the device accepted that, which is known later.
   */
  replay(epochs: readonly Epoch[]): Promise<boolean> {
    const { failed } = makeSilently(this.#device, () => {
      // The oldest snapshot of a resource is the one that no fault can have touched.
      this.#snapshots.restore(epochs.flatMap(({ past }) => [...past]));
      for (const event of epochs.flatMap(({ events }) => events)) this.#repeat(event);
    });
    return this.#isAccepted(epochs, failed);
  }

  async #isAccepted(epochs: readonly Epoch[], failed: Promise<GPUError | null>): Promise<boolean> {
    await Promise.all(epochs.flatMap(({ saving }) => saving));
    return !(await failed) && epochs.every(({ obstacle }) => obstacle === undefined);
  }

  #repeat(event: QueueEvent): void {
    if (!(event instanceof CommandRecord)) {
      event.again?.();
      return;
    }
    const encoder = this.#device.createCommandEncoder({ label: "belay: run again" });
    for (const step of event.steps) step(encoder);
    const commands = encoder.finish();
    this.#device.queue.submit(this.#memory?.commands.around(commands, event) ?? [commands]);
  }

  #isTouched(resource: Resource): boolean {
    if (this.#open.touched.has(resource)) return true;
    return this.#closed.some(({ touched }) => touched.has(resource));
  }

  /** Saves what is about to be written as it is now, unless the open epoch has done so or nothing can need it. */
  #save(written: Iterable<Resource>, replaced: ReadonlySet<Resource>): void {
    const epoch = this.#open;
    const resources: Resource[] = [];
    for (const resource of written) {
      if (epoch.past.has(resource) || this.#textures.isShown(resource)) continue;
      // A buffer for reading back is never read by the GPU: running again writes it as before.
      if (!isTexture(resource) && resource.usage & flags.bufferMapRead) continue;
      const isRead = this.#epochs.some(({ touched, past }) => touched.has(resource) && !past.has(resource));
      if (replaced.has(resource) && !isRead) {
        this.#snapshots.changed(resource);
        epoch.past.set(resource, "replaced");
      } else {
        resources.push(resource);
      }
    }
    if (resources.length === 0) return;
    const failed = this.#snapshots.save(resources, epoch.past);
    if (!failed) return;
    const saved = failed.then((error) => {
      if (error) epoch.obstacle = `what it overwrites could not be saved: ${error.message}`;
    });
    epoch.saving.push(saved);
  }
}

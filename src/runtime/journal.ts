import type { CommandRecord } from "./commands.ts";
import { flags, makeSilently, original, shadow } from "./nativeObjects.ts";
import type { Resource } from "./resources.ts";

/** The host wrote into a buffer. */
interface HostWrite {
  readonly buffer: GPUBuffer;
  readonly offset: number;
  readonly data: Uint8Array;
  /** All of the buffer was replaced. */
  readonly whole: boolean;
}

/** Something that happened on the queue, in order. */
export type QueueEvent = CommandRecord | HostWrite;

/** What a buffer held when an epoch first wrote it: a copy, or nothing but zeros. */
type Contents = GPUBuffer | "zeros";

/** All that was submitted between two checks. */
export interface Epoch {
  readonly events: QueueEvent[];
  readonly touched: Set<Resource>;
  readonly snapshots: Map<GPUBuffer, Contents>;
  /** Settle when the device has taken, or refused, the snapshots. */
  readonly saving: Promise<void>[];
  /** Why the epoch cannot be run again, if so. */
  obstacle?: string;
}

/** Snapshots that wait to be used again; more are freed. */
const KEPT_SNAPSHOTS = 16;

/**
 * Everything on the queue that is not verified yet, and the means to run it again: what was submitted, what the host
 * wrote, and what buffers held before. Keeps nothing of the past when `recoverable` is false.
 */
export class Journal {
  readonly #device: GPUDevice;
  /** Whether unverified work can be run again at all. */
  readonly recoverable: boolean;
  readonly #closed: Epoch[] = [];
  #open: Epoch = newEpoch();
  /** Buffers that hold nothing but zeros yet. */
  readonly #pristine = new WeakSet<GPUBuffer>();
  /** Buffers the program destroyed while unverified work may have to run on them again, and how to destroy them. */
  readonly #doomed = new Map<GPUBuffer, () => void>();
  readonly #idleSnapshots: GPUBuffer[] = [];

  readonly #wantCheck: () => void;

  /** `wantCheck` is called when a check would free memory. */
  constructor(device: GPUDevice, recoverable: boolean, wantCheck: () => void) {
    this.#device = device;
    this.#wantCheck = wantCheck;
    this.recoverable = recoverable;
  }

  /** Unverified epochs, oldest first, the open one last. */
  get #epochs(): readonly Epoch[] {
    return [...this.#closed, this.#open];
  }

  /** Events in the open epoch. */
  get openEvents(): number {
    return this.#open.events.length;
  }

  /** Why the unverified epochs cannot be run again, if so. */
  get obstacle(): string | undefined {
    return this.#epochs.find(({ obstacle }) => obstacle !== undefined)?.obstacle;
  }

  /** Creates a buffer whose contents can be saved, put back, and outlive the program's `destroy`. */
  createBuffer(descriptor: GPUBufferDescriptor): GPUBuffer {
    const { usage } = descriptor;
    const mappable = usage & (flags.bufferMapRead | flags.bufferMapWrite);
    if (!this.recoverable) return this.#device.createBuffer(descriptor);
    const extra = mappable || usage === 0 ? 0 : flags.bufferCopySrc | flags.bufferCopyDst;
    const buffer = this.#device.createBuffer({ ...descriptor, usage: usage | extra });
    if (!descriptor.mappedAtCreation) this.#pristine.add(buffer);
    const destroy = original(buffer, "destroy");
    shadow(buffer, {
      usage,
      destroy: () => {
        if (!this.#isTouched(buffer)) return destroy();
        this.#doomed.set(buffer, destroy);
        this.#wantCheck();
      },
    });
    return buffer;
  }

  /** Call before the program uses a buffer: when it has destroyed it, the error has to come out. */
  using(resource: Resource): void {
    const destroy = this.#doomed.get(resource as GPUBuffer);
    if (!destroy) return;
    this.#doomed.delete(resource as GPUBuffer);
    destroy();
    for (const epoch of this.#epochs) {
      if (epoch.touched.has(resource)) epoch.obstacle = "a buffer it needs is destroyed";
    }
  }

  /** Call before submitting commands: saves what they are going to overwrite. Undefined stands for unknown commands. */
  submitting(records: readonly (CommandRecord | undefined)[]): void {
    const known = records.filter((record) => record !== undefined);
    if (known.length < records.length) this.#open.obstacle = "it holds commands from elsewhere";
    for (const record of known) {
      for (const resource of record.touched) {
        this.using(resource);
        if (this.recoverable && "createView" in resource) this.#open.obstacle = "it uses textures";
        this.#open.touched.add(resource);
      }
      if (record.obstacle) this.#open.obstacle = record.obstacle;
      for (const [kernel, count] of record.dispatches) kernel.dispatches += count;
      this.#open.events.push(record);
    }
    if (!this.recoverable) return;
    const written = known.flatMap((record) => [...record.written]);
    this.#save(written.filter((resource): resource is GPUBuffer => !("createView" in resource)));
  }

  /** Call before the host writes into a buffer. */
  writing(buffer: GPUBuffer, offset: number, data: Uint8Array): void {
    this.using(buffer);
    const whole = offset === 0 && data.length === buffer.size;
    // What no unverified work touches is not undone when that work is, so it need not be kept.
    const kept = this.recoverable && this.#isTouched(buffer);
    if (kept) this.#save([buffer]);
    else this.#pristine.delete(buffer);
    if (kept || whole) {
      this.#open.events.push({ buffer, offset, whole, data: kept ? data.slice() : new Uint8Array() });
    }
    if (kept) this.#open.touched.add(buffer);
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
      for (const contents of epoch.snapshots.values()) {
        if (contents !== "zeros") this.#idleSnapshots.push(contents);
      }
    }
    while (this.#idleSnapshots.length > KEPT_SNAPSHOTS) this.#idleSnapshots.shift()!.destroy();
    for (const [buffer, destroy] of this.#doomed) {
      if (this.#isTouched(buffer)) continue;
      this.#doomed.delete(buffer);
      destroy();
    }
  }

  /**
   * Puts everything back to what it was before the oldest unverified epoch and runs all unverified epochs again.
   * Returns whether the device accepted that, which is known later.
   */
  replay(epochs: readonly Epoch[]): Promise<boolean> {
    const { failed } = makeSilently(this.#device, () => {
      this.#restore(epochs);
      for (const event of epochs.flatMap(({ events }) => events)) this.#repeat(event);
    });
    return this.#isAccepted(epochs, failed);
  }

  async #isAccepted(epochs: readonly Epoch[], failed: Promise<GPUError | null>): Promise<boolean> {
    await Promise.all(epochs.flatMap(({ saving }) => saving));
    return !(await failed) && epochs.every(({ obstacle }) => obstacle === undefined);
  }

  #restore(epochs: readonly Epoch[]): void {
    const encoder = this.#device.createCommandEncoder({ label: "belay: restore" });
    const restored = new Set<GPUBuffer>();
    for (const [buffer, contents] of epochs.flatMap(({ snapshots }) => [...snapshots])) {
      // The oldest snapshot is the one that is not touched by the fault.
      if (restored.has(buffer)) continue;
      restored.add(buffer);
      const size = copySize(buffer);
      if (contents === "zeros") encoder.clearBuffer(buffer, 0, size);
      else encoder.copyBufferToBuffer(contents, 0, buffer, 0, size);
    }
    this.#device.queue.submit([encoder.finish()]);
  }

  #repeat(event: QueueEvent): void {
    if ("buffer" in event) {
      if (event.data.length > 0) this.#device.queue.writeBuffer(event.buffer, event.offset, event.data);
      return;
    }
    const encoder = this.#device.createCommandEncoder({ label: "belay: run again" });
    for (const step of event.steps) step(encoder);
    this.#device.queue.submit([encoder.finish()]);
  }

  #isTouched(buffer: GPUBuffer): boolean {
    return this.#epochs.some(({ touched }) => touched.has(buffer));
  }

  /** Saves buffers as they are now, unless the open epoch has done so. */
  #save(buffers: readonly GPUBuffer[]): void {
    const epoch = this.#open;
    const copies: (readonly [GPUBuffer, GPUBuffer])[] = [];
    const { failed } = makeSilently(this.#device, () => {
      for (const buffer of buffers) {
        // A buffer for reading back is never read by the GPU: running again writes it as before.
        if (epoch.snapshots.has(buffer) || buffer.usage & flags.bufferMapRead) continue;
        const contents = this.#pristine.delete(buffer) ? "zeros" : this.#newSnapshot(copySize(buffer));
        epoch.snapshots.set(buffer, contents);
        if (contents !== "zeros") copies.push([buffer, contents]);
      }
      if (copies.length === 0) return;
      const encoder = this.#device.createCommandEncoder({ label: "belay: save" });
      for (const [buffer, copy] of copies) encoder.copyBufferToBuffer(buffer, 0, copy, 0, copySize(buffer));
      this.#device.queue.submit([encoder.finish()]);
    });
    if (copies.length === 0) return;
    const saved = failed.then((error) => {
      if (error) epoch.obstacle = `its buffers could not be saved: ${error.message}`;
    });
    epoch.saving.push(saved);
  }

  #newSnapshot(size: number): GPUBuffer {
    const idle = this.#idleSnapshots.findIndex((snapshot) => snapshot.size === size);
    if (idle >= 0) return this.#idleSnapshots.splice(idle, 1)[0]!;
    const usage = flags.bufferCopySrc | flags.bufferCopyDst;
    return this.#device.createBuffer({ label: "belay: snapshot", size, usage });
  }
}

function newEpoch(): Epoch {
  return { events: [], touched: new Set(), snapshots: new Map(), saving: [] };
}

/** Copies move whole words; no shader or copy can write beyond the last whole one. */
function copySize(buffer: GPUBuffer): number {
  return buffer.size - (buffer.size % 4);
}

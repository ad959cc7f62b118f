import { speculationError } from "../../diagnostics/speculation.ts";
import type { LoopData } from "../../loops/javascript/sequential.ts";
import type { Workspace } from "../device/workspace.ts";
import { deviceCopies } from "./deviceCopies.ts";
import { type Moved, type PendingDownload, rescue } from "./downloads.ts";
import { inCallOrder, memoryOf, OrderedOperation } from "./operationOrder.ts";
import { isTypedArray } from "./typedArrays.ts";

/** A part of an array: bytes from `start` to `end - 1`. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const kept = new WeakMap<LoopData, ResidentArray>();

/** Returns the array as one that stays on the GPU, if the program made it resident. */
export function residentOf(array: LoopData | ResidentArray): LoopData | ResidentArray {
  return array instanceof ResidentArray ? array : (kept.get(array) ?? array);
}

/**
 * An array that stays on the GPU from one loop to the next, and moves only when the other side has
 * changed it. Between loops the program reads it with {@link read} and changes it with {@link
 * write}. These methods, {@link release}, and loops take effect in the order of their calls,
 * whether the program awaits them or not.
 */
export interface Resident<Data extends LoopData = LoopData> {
  /** The number of elements. */
  readonly length: number;
  /**
   * Resolves to the array as earlier loops leave it: the program's own array, brought up to date.
   * Rejects with a `SpeculationError` (BELAY540) if a device failed with data that only it had.
   */
  read(): Promise<Data>;
  /**
   * Sets elements from `start` on to the current `values`. `start` is 0 by default. Rejects as
   * {@link read} does, and with a `RangeError` for elements that do not exist.
   */
  write(values: ArrayLike<number>, start?: number): Promise<void>;
  /**
   * Frees the memory on the device, where the array stays no longer. Changes by loops since the
   * last {@link read} are lost.
   */
  release(): void;
}

/**
 * A {@link Resident} with the operations of the engine. One or both copies are up to date. The
 * host's is not while {@link isOnDevice}; the device's is not while there are {@link bytesToSend}.
 */
export class ResidentArray<Data extends LoopData = LoopData> implements Resident<Data> {
  readonly #host: Data;
  #workspace: Workspace | null = null;
  #buffer: GPUBuffer | null = null;
  /** The array's size in bytes when its memory on the device was created. */
  #size = 0;
  /** The bytes that the device does not have yet. */
  #unsent: ByteRange;
  /** True if the device has changed the array since it was last read. */
  #changed = false;

  /** Takes the array over. From now on, change it only with {@link write}. */
  constructor(host: Data) {
    this.#host = host;
    this.#unsent = { start: 0, end: host.byteLength };
  }

  get length(): number {
    return this.#host.length;
  }

  read(): Promise<Data> {
    return inCallOrder(this.#alone, async () => {
      await deviceCopies.settle(this.#host, this, false);
      await rescue([this]);
      return this.#host;
    });
  }

  async write(values: ArrayLike<number>, start = 0): Promise<void> {
    const operation = new OrderedOperation(this.#alone);
    try {
      const isReady = operation.comes === null && !this.#changed && !deviceCopies.hasOthers(this.#host, this);
      const taken = isReady ? values : Array.from(values);
      if (operation.comes) await operation.comes;
      if (!isReady) {
        await deviceCopies.settle(this.#host, this, true);
        await rescue([this]);
      }
      this.#host.set(taken, start);
      const bytes = this.#host.BYTES_PER_ELEMENT;
      this.hostChanged({ start: start * bytes, end: (start + taken.length) * bytes });
    } finally {
      operation.end();
    }
  }

  release(): void {
    if (kept.get(this.#host) === this) kept.delete(this.#host);
    const operation = new OrderedOperation(this.#alone);
    const drop = () => {
      this.drop();
      operation.end();
    };
    if (operation.comes) void operation.comes.then(drop);
    else drop();
  }

  /** The memory that an operation uses exclusively. */
  get #alone(): ReadonlyMap<object, boolean> {
    return new Map([[memoryOf(this.#host), true]]);
  }

  /** Frees the memory on the device and keeps the host's copy. */
  drop(): void {
    this.#buffer?.destroy();
    this.#forget();
  }

  /** The array itself, which may be older than the device's copy. */
  get host(): Data {
    return this.#host;
  }

  /** True if only the device's copy is up to date. */
  get isOnDevice(): boolean {
    return this.#changed;
  }

  /**
   * True if only a copy is up to date that loops on this device cannot use: one on another device,
   * or of another size.
   */
  isElsewhere(workspace: Workspace): boolean {
    return this.#changed && !this.#isHeldBy(workspace);
  }

  /** Returns the number of bytes that {@link upload} would send. */
  bytesToSend(workspace: Workspace): number {
    const { byteLength } = this.#host;
    return this.#isHeldBy(workspace)
      ? Math.min(this.#unsent.end - this.#unsent.start, byteLength)
      : byteLength;
  }

  /**
   * Returns the bytes of the device's copy that are up to date. They must be sent again if the host
   * changes the whole array.
   */
  bytesToKeep(workspace: Workspace): number {
    return this.#isHeldBy(workspace) ? this.#host.byteLength - this.bytesToSend(workspace) : 0;
  }

  /**
   * Returns the array's memory on the device, brought up to date if `isNeeded`. It is not needed if
   * the loop overwrites all of it. Requires that the array is not {@link isElsewhere}.
   */
  async upload(workspace: Workspace, moved: Moved, isNeeded = true): Promise<GPUBuffer> {
    const { buffer, byteOffset, byteLength } = this.#host;
    if (!this.#buffer || !this.#isHeldBy(workspace)) {
      this.drop();
      this.#workspace = workspace;
      this.#buffer = workspace.borrow(padded(byteLength));
      this.#size = byteLength;
      this.#unsent = { start: 0, end: byteLength };
      deviceCopies.add(this);
    }
    const { start, end } = this.#unsent;
    if (start < end && isNeeded) {
      const [from, to] = [start - (start % 4), Math.min(Math.ceil(end / 4) * 4, byteLength)];
      const bytes = new Uint8Array(buffer, byteOffset + from, to - from);
      await workspace.uploads.write(this.#buffer, from, bytes);
      moved.uploaded += end - start;
    }
    this.#unsent = { start: 0, end: 0 };
    return this.#buffer;
  }

  /**
   * Returns true if the device has memory for the array at its current size. An array whose memory
   * can grow, or was given away, changes its size.
   */
  #isHeldBy(workspace: Workspace): boolean {
    return this.#workspace === workspace && this.#size === this.#host.byteLength;
  }

  /** Records that kernels have written to the device's copy, or are about to. */
  deviceChanged(): void {
    this.#changed = true;
  }

  /** Records that the array itself has changed, in a part of it or anywhere. */
  hostChanged({ start, end }: ByteRange = { start: 0, end: this.#host.byteLength }): void {
    const before = this.#unsent;
    const empty = before.start >= before.end;
    this.#unsent = empty
      ? { start, end }
      : { start: Math.min(start, before.start), end: Math.max(end, before.end) };
  }

  /** Returns the memory on the device for other arrays. */
  giveBack(): void {
    if (this.#buffer) this.#workspace?.giveBack(this.#buffer);
    this.#forget();
  }

  #forget(): void {
    deviceCopies.remove(this);
    this.#buffer = null;
    this.#workspace = null;
    this.#changed = false;
  }

  /** The download that brings the array up to date; null if it is. */
  get pending(): PendingDownload | null {
    if (!this.#changed) return null;
    const bytes = Math.min(this.#host.byteLength, this.#size);
    const take = (read: Uint8Array, start: number) => {
      const { buffer, byteOffset, byteLength } = this.#host;
      const taken = Math.max(0, Math.min(read.length, byteLength - start));
      // The memory of an empty array may have been given away.
      if (taken > 0) new Uint8Array(buffer, byteOffset + start, taken).set(read.subarray(0, taken));
      this.#changed = start + read.length < padded(bytes);
      return taken;
    };
    return { workspace: this.#workspace!, buffer: this.#buffer!, bytes: padded(bytes), take };
  }
}

/**
 * Returns the array as one that stays on the GPU until it is released. Throws a `SpeculationError`
 * (BELAY542) for anything but a typed array that a loop may use.
 */
export function resident<Data extends LoopData>(array: Data): ResidentArray<Data> {
  if (!isTypedArray(array)) throw speculationError.notTypedArray(array);
  const known = kept.get(array) as ResidentArray<Data> | undefined;
  const result = known ?? new ResidentArray(array);
  kept.set(array, result);
  return result;
}

function padded(bytes: number): number {
  return Math.max(4, Math.ceil(bytes / 4) * 4);
}

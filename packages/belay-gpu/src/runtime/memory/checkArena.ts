import { flags, makeSilently } from "../webgpu/nativeObjects.ts";

/** A stretch of words. */
interface Extent {
  readonly first: number;
  readonly words: number;
}

const INITIAL_BYTES = 256 * 1024;
const FEW = 1024;

/**
 * The check words of all buffers of a device: one storage buffer, in which each buffer has a range.
 * It grows by copying, so commands recorded before hold on to an older, smaller one.
 */
export class CheckArena {
  readonly #device: GPUDevice;
  readonly #limit: number;
  #buffer: GPUBuffer;
  #failed: Promise<GPUError | null>;
  /** Words up to the end of the last range that was ever in use. */
  #used = 0;
  /** Ranges that were given back, by their first word, no two adjacent. */
  #free: readonly Extent[] = [];

  constructor(device: GPUDevice) {
    this.#device = device;
    const { maxStorageBufferBindingSize, maxBufferSize } = device.limits;
    this.#limit = Math.min(maxStorageBufferBindingSize, maxBufferSize);
    const { made, failed } = this.#make(Math.min(INITIAL_BYTES, this.#limit));
    this.#buffer = made;
    this.#failed = failed;
  }

  get buffer(): GPUBuffer {
    return this.#buffer;
  }

  /** The error, if the device has no memory for it. */
  get failed(): Promise<GPUError | null> {
    return this.#failed;
  }

  /** Whether the device allows for so many more words. */
  hasRoom(words: number): boolean {
    return this.#holeFor(words) >= 0 || 4 * (this.#used + words) <= this.#limit;
  }

  /** Reserves zeroed words, for which there is room, and returns the index of the first. */
  allocate(words: number): number {
    const hole = this.#holeFor(words);
    if (hole < 0) return this.#extend(words);
    const { first, words: all } = this.#free[hole]!;
    const rest = all > words ? [{ first: first + words, words: all - words }] : [];
    this.#free = this.#free.toSpliced(hole, 1, ...rest);
    this.#clear(first, words);
    return first;
  }

  release({ first, words }: Extent): void {
    const after = this.#free.findIndex((extent) => extent.first > first);
    const at = after < 0 ? this.#free.length : after;
    const [before, next] = [this.#free[at - 1], this.#free[at]];
    const joinsBefore = before !== undefined && before.first + before.words === first;
    const joinsNext = next !== undefined && first + words === next.first;
    const start = joinsBefore ? before.first : first;
    const end = joinsNext ? next.first + next.words : first + words;
    const replaced = Number(joinsBefore) + Number(joinsNext);
    const merged = { first: start, words: end - start };
    this.#free = this.#free.toSpliced(at - Number(joinsBefore), replaced, merged);
  }

  /** Copies what two arenas have in common. */
  carryOver(encoder: GPUCommandEncoder, from: GPUBuffer, to: GPUBuffer): void {
    encoder.copyBufferToBuffer(from, 0, to, 0, Math.min(from.size, to.size));
  }

  #clear(first: number, words: number): void {
    // For a few words, a write costs the host less than commands.
    if (words <= FEW) {
      this.#device.queue.writeBuffer(this.#buffer, 4 * first, new Uint32Array(words));
      return;
    }
    const encoder = this.#device.createCommandEncoder({ label: "belay: clear check words" });
    encoder.clearBuffer(this.#buffer, 4 * first, 4 * words);
    this.#device.queue.submit([encoder.finish()]);
  }

  #holeFor(words: number): number {
    return this.#free.findIndex((extent) => extent.words >= words);
  }

  #extend(words: number): number {
    const needed = 4 * (this.#used + words);
    if (needed > this.#buffer.size) this.#grow(needed);
    const first = this.#used;
    this.#used += words;
    return first;
  }

  #grow(needed: number): void {
    let size = this.#buffer.size;
    while (size < needed) size *= 2;
    const { made, failed } = this.#make(Math.min(size, this.#limit));
    const encoder = this.#device.createCommandEncoder({ label: "belay: more check words" });
    this.carryOver(encoder, this.#buffer, made);
    this.#device.queue.submit([encoder.finish()]);
    this.#buffer = made;
    this.#failed = Promise.all([this.#failed, failed]).then(([before, now]) => before ?? now);
  }

  #make(size: number) {
    const usage = flags.bufferStorage | flags.bufferCopySrc | flags.bufferCopyDst;
    return makeSilently(this.#device, () =>
      this.#device.createBuffer({ label: "belay: check words", size, usage }),
    );
  }
}

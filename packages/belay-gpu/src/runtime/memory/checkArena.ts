import { flags, makeSilently } from "../webgpu/nativeObjects.ts";

/** A range of 32-bit words. */
interface Extent {
  readonly first: number;
  readonly words: number;
}

const INITIAL_BYTES = 256 * 1024;
const FEW_WORDS = 1024;

/**
 * The storage buffer with the check words of all buffers of a device. Each protected buffer has a
 * range in it. The arena grows by copying, so commands that were recorded earlier keep using an
 * older, smaller arena.
 */
export class CheckArena {
  readonly #device: GPUDevice;
  readonly #limit: number;
  #buffer: GPUBuffer;
  #failed: Promise<GPUError | null>;
  /** The number of words up to the end of the last range that was ever in use. */
  #used = 0;
  /** The released ranges, ordered by their first word. No two of them are adjacent. */
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

  /** The error if the device had no memory for the arena, otherwise null. */
  get failed(): Promise<GPUError | null> {
    return this.#failed;
  }

  /** Returns whether the arena has room for this many more words without growing. */
  fits(words: number): boolean {
    return this.#holeFor(words) >= 0 || 4 * (this.#used + words) <= this.#buffer.size;
  }

  /** Returns whether the arena can hold this many more words within the limits of the device. */
  hasRoom(words: number): boolean {
    return this.#holeFor(words) >= 0 || 4 * (this.#used + words) <= this.#limit;
  }

  /** Reserves zeroed words and returns the index of the first. Call `hasRoom` before. */
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

  /** Copies the words that both arenas have room for. */
  carryOver(encoder: GPUCommandEncoder, from: GPUBuffer, to: GPUBuffer): void {
    encoder.copyBufferToBuffer(from, 0, to, 0, Math.min(from.size, to.size));
  }

  #clear(first: number, words: number): void {
    // Writing a few words costs less CPU time than encoding a command.
    if (words <= FEW_WORDS) {
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

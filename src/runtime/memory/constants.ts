import { flags } from "../nativeObjects.ts";
import type { BufferRange } from "../resources.ts";

const PAGE_BYTES = 64 * 1024;
/** Every device accepts uniform and storage buffer offsets of this alignment. */
const ALIGNMENT = 256;

/**
 * Lists of words that kernels read and that never change. Commands can neither take numbers along nor wait for them to be
 * written in time, as they may be submitted late or run again; so each list is written once and found again by its contents.
 */
export class Constants {
  readonly #device: GPUDevice;
  readonly #known = new Map<string, BufferRange>();
  #page: GPUBuffer | undefined;
  #used = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  of(words: readonly number[]): BufferRange {
    const key = words.join();
    const known = this.#known.get(key);
    if (known) return known;
    const range = this.#allocate(4 * words.length);
    this.#device.queue.writeBuffer(range.buffer, range.offset, Uint32Array.from(words));
    this.#known.set(key, range);
    return range;
  }

  #allocate(size: number): BufferRange {
    if (!this.#page || this.#used + size > this.#page.size) {
      this.#page = this.#device.createBuffer({
        ...{ label: "belay: constants", size: Math.max(PAGE_BYTES, size) },
        usage: flags.bufferStorage | flags.bufferUniform | flags.bufferCopyDst,
      });
      this.#used = 0;
    }
    const offset = this.#used;
    this.#used += Math.ceil(size / ALIGNMENT) * ALIGNMENT;
    return { buffer: this.#page, offset, size };
  }
}

import { flags } from "../webgpu/nativeObjects.ts";
import type { BufferRange } from "../webgpu/resources.ts";

export const PAGE_BYTES = 64 * 1024;
/** Every device accepts uniform and storage buffer offsets of this alignment. */
const ALIGNMENT = 256;

/**
 * Pages whose lists are found again; older ones belong to the commands that use them, and go with
 * these.
 */
export const KEPT_PAGES = 4;

interface Page {
  readonly buffer: GPUBuffer;
  readonly known: Map<string, BufferRange>;
  used: number;
}

/**
 * Lists of words that kernels read and that never change. Commands can neither take numbers along
 * nor wait for them to be written in time, as they may be submitted late or run again; so each list
 * is written once and found again by its contents, among the latest ones.
 */
export class Constants {
  readonly #device: GPUDevice;
  /** The latest first. */
  #pages: readonly Page[] = [];

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Bytes of GPU memory for the lists that are found again. */
  get held(): number {
    return this.#pages.reduce((sum, { buffer }) => sum + buffer.size, 0);
  }

  of(words: readonly number[]): BufferRange {
    const key = words.join();
    for (const { known } of this.#pages) {
      const range = known.get(key);
      if (range) return range;
    }
    const size = 4 * words.length;
    const page = this.#pageFor(size);
    const range = { buffer: page.buffer, offset: page.used, size };
    page.used += Math.ceil(size / ALIGNMENT) * ALIGNMENT;
    page.known.set(key, range);
    this.#device.queue.writeBuffer(range.buffer, range.offset, Uint32Array.from(words));
    return range;
  }

  #pageFor(size: number): Page {
    const [latest] = this.#pages;
    if (latest && latest.used + size <= latest.buffer.size) return latest;
    const buffer = this.#device.createBuffer({
      label: "belay: constants",
      size: Math.max(PAGE_BYTES, size),
      usage: flags.bufferStorage | flags.bufferUniform | flags.bufferCopyDst,
    });
    const page = { buffer, known: new Map(), used: 0 };
    this.#pages = [page, ...this.#pages.slice(0, KEPT_PAGES - 1)];
    return page;
  }
}

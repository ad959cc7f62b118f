import { flags } from "../webgpu/nativeObjects.ts";
import type { BufferRange } from "../webgpu/resources.ts";

export const PAGE_BYTES = 64 * 1024;
/** An offset alignment that every device accepts, for uniform and storage buffers. */
const ALIGNMENT = 256;

/**
 * The number of pages whose lists can be reused. Older pages live as long as the commands that use
 * them.
 */
export const KEPT_PAGES = 4;

interface Page {
  readonly buffer: GPUBuffer;
  readonly known: Map<string, BufferRange>;
  used: number;
}

/**
 * Lists of words that kernels read and that never change. Commands may be submitted late or run
 * again, so they cannot carry their numbers nor wait for a write. Each list is therefore written
 * once. Lists on the latest pages are found again by their contents.
 */
export class Constants {
  readonly #device: GPUDevice;
  /** The pages, the latest first. */
  #pages: readonly Page[] = [];

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** The GPU memory of the pages whose lists can be reused, in bytes. */
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
      usage: flags.bufferStorage | flags.bufferUniform | flags.bufferCopyDst | flags.bufferCopySrc,
    });
    const page = { buffer, known: new Map(), used: 0 };
    this.#pages = [page, ...this.#pages.slice(0, KEPT_PAGES - 1)];
    return page;
  }
}

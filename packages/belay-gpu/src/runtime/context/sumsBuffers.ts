import { flags, makeSilently } from "../webgpu/nativeObjects.ts";
import { type BufferRange, whole } from "../webgpu/resources.ts";

/** A buffer for sums. */
interface SumsBuffer {
  readonly range: BufferRange;
  /** The error if the device had no memory for the buffer, otherwise null. */
  readonly failed: Promise<GPUError | null>;
}

/**
 * Buffers to which kernels store sums beside results that are functions of them. Sums are needed
 * only until they are checked, so all dispatches with results of one size share a buffer.
 */
export class SumsBuffers {
  readonly #device: GPUDevice;
  readonly #buffers = new Map<number, SumsBuffer>();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Returns the bytes of all buffers, and of one beside results of so many bytes. */
  bytesWith(size: number): number {
    return [...new Set([...this.#buffers.keys(), size])].reduce((sum, each) => sum + each, 0);
  }

  /** Returns the buffer beside results of so many bytes. It is created on first use. */
  of(size: number): SumsBuffer {
    const known = this.#buffers.get(size);
    if (known) return known;
    const { made, failed } = makeSilently(this.#device, () =>
      this.#device.createBuffer({ label: "belay: sums", size, usage: flags.bufferStorage }),
    );
    const buffer = { range: whole(made), failed };
    this.#buffers.set(size, buffer);
    return buffer;
  }
}

import { flags } from "../webgpu/nativeObjects.ts";
import type { BufferRange } from "../webgpu/resources.ts";

/** The largest uniform buffer whose contents are kept, in bytes. */
const MOST_BYTES = 16 * 1024;

/**
 * The contents of small uniform buffers, as far as only the host wrote them. They decide what many
 * kernels store to.
 */
export class UniformContents {
  #contents = new WeakMap<GPUBuffer, DataView<ArrayBuffer>>();

  /** Records that a buffer was created with zeros. */
  recordCreation(buffer: GPUBuffer): void {
    const mappable = flags.bufferMapRead | flags.bufferMapWrite;
    const isUniform = (buffer.usage & (flags.bufferUniform | mappable)) === flags.bufferUniform;
    if (isUniform && buffer.size <= MOST_BYTES && buffer.size % 4 === 0)
      this.#contents.set(buffer, new DataView(new ArrayBuffer(buffer.size)));
  }

  /** Records that the host writes a range of a buffer. */
  recordWrite({ buffer, offset }: BufferRange, bytes: Uint8Array): void {
    const known = this.#contents.get(buffer);
    if (known) new Uint8Array(known.buffer).set(bytes, offset);
  }

  /** Records that something else writes to a buffer. */
  forget(buffer: GPUBuffer): void {
    this.#contents.delete(buffer);
  }

  /** Records that unknown commands may write to any buffer. */
  forgetAll(): void {
    this.#contents = new WeakMap();
  }

  /** Returns a copy of the contents of a buffer; undefined if they are not known. */
  copyOf(buffer: GPUBuffer): Uint8Array<ArrayBuffer> | undefined {
    const known = this.#contents.get(buffer);
    return known && new Uint8Array(known.buffer.slice(0));
  }

  /** Returns the word at a byte of a range; undefined if it is not known. */
  wordAt({ buffer, offset }: BufferRange, byte: number): number | undefined {
    const known = this.#contents.get(buffer);
    return known && offset + byte + 4 <= known.byteLength ? known.getUint32(offset + byte, true) : undefined;
  }
}

import type { KnownUniforms } from "../memory/kernelSums.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import { Overlay } from "../webgpu/overlay.ts";
import type { BufferRange } from "../webgpu/resources.ts";

/** The largest uniform buffer whose contents are kept, in bytes. */
const MOST_BYTES = 16 * 1024;

/** The ranges of a buffer that the program has got since the buffer was created. */
interface MappedAtCreation {
  readonly ranges: { readonly offset: number; readonly size: number; readonly bytes: ArrayBuffer }[];
  isMapped: boolean;
}

/** The known bytes of a buffer, and a number that changes with them. */
interface KnownContents {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The same bytes. */
  readonly view: DataView<ArrayBuffer>;
  version: number;
  /** The text of the latest range, once it was needed. Programs bind the same range again. */
  text?: { readonly version: number; readonly offset: number; readonly size: number; readonly text: string };
}

/**
 * The contents of small uniform buffers, as far as only the host wrote them. They decide which
 * elements many kernels access.
 */
export class UniformContents implements KnownUniforms {
  #contents = new WeakMap<GPUBuffer, KnownContents>();
  #versions = 0;

  /** Reads what the program writes to buffers that are mapped at their creation. */
  readonly #mapped = new Overlay<GPUBuffer, MappedAtCreation>((native, stateOf) => {
    const unmapped = (buffer: GPUBuffer, ranges: MappedAtCreation["ranges"]) =>
      this.#unmapped(buffer, ranges);
    return {
      getMappedRange(offset = 0, size) {
        const bytes = native.getMappedRange.call(this, offset, size);
        stateOf(this).ranges.push({ offset, size: bytes.byteLength, bytes });
        return bytes;
      },
      unmap() {
        const state = stateOf(this);
        if (state.isMapped) unmapped(this, state.ranges);
        state.isMapped = false;
        state.ranges.length = 0;
        native.unmap.call(this);
      },
    };
  });

  /** Records that a buffer was created with zeros. With `isMapped`, it is mapped. */
  recordCreation(buffer: GPUBuffer, isMapped: boolean): void {
    const mappable = flags.bufferMapRead | flags.bufferMapWrite;
    const isUniform = (buffer.usage & (flags.bufferUniform | mappable)) === flags.bufferUniform;
    if (!isUniform || buffer.size > MOST_BYTES || buffer.size % 4 !== 0) return;
    if (isMapped) this.#mapped.attach(buffer, { ranges: [], isMapped });
    else this.#know(buffer, new ArrayBuffer(buffer.size));
  }

  #know(buffer: GPUBuffer, bytes: ArrayBuffer): void {
    const version = this.#versions++;
    this.#contents.set(buffer, { bytes: new Uint8Array(bytes), view: new DataView(bytes), version });
  }

  #unmapped(buffer: GPUBuffer, ranges: MappedAtCreation["ranges"]): void {
    // The program may have transferred the bytes to where nobody can read them.
    if (ranges.some(({ size, bytes }) => bytes.byteLength !== size)) return;
    const contents = new Uint8Array(buffer.size);
    for (const { offset, bytes } of ranges) contents.set(new Uint8Array(bytes), offset);
    this.#know(buffer, contents.buffer);
  }

  /** Returns whether a range of a buffer is known to contain these bytes. */
  has({ buffer, offset }: BufferRange, bytes: Uint8Array): boolean {
    const known = this.#contents.get(buffer);
    if (!known) return false;
    for (let i = 0; i < bytes.length; i++) if (known.bytes[offset + i] !== bytes[i]) return false;
    return true;
  }

  /** Records that the host writes a range of a buffer. */
  recordWrite(range: BufferRange, bytes: Uint8Array): void {
    const known = this.#contents.get(range.buffer);
    if (!known || this.has(range, bytes)) return;
    known.bytes.set(bytes, range.offset);
    known.version = this.#versions++;
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
    return known?.bytes.slice();
  }

  /** Returns the word at a byte of a range; undefined if it is not known. */
  wordAt({ buffer, offset }: BufferRange, byte: number): number | undefined {
    const known = this.#contents.get(buffer);
    const isInside = known && offset + byte + 4 <= known.bytes.byteLength;
    return isInside ? known.view.getUint32(offset + byte, true) : undefined;
  }

  versionOf(buffer: GPUBuffer): number | undefined {
    return this.#contents.get(buffer)?.version;
  }

  textOf({ buffer, offset, size }: BufferRange): string | undefined {
    const known = this.#contents.get(buffer);
    if (!known) return undefined;
    const { text: latest, version } = known;
    if (latest?.version === version && latest.offset === offset && latest.size === size) return latest.text;
    const text = known.bytes.subarray(offset, offset + size).join();
    known.text = { version, offset, size, text };
    return text;
  }
}

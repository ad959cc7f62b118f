/** The contents of buffers while kernels are executed: exact bits, and intervals of floats. */

import { type FloatFormat, f16Format, f32Format } from "./floatFormat.ts";
import type { Bounds } from "./intervals.ts";
import { Undecided } from "./undecided.ts";

/** Bounds of the numbers at some bytes. NaN stands for an unknown number. */
export interface FloatRange {
  /** The least number. */
  readonly low: number;
  /** The largest number. */
  readonly high: number;
}

/**
 * A buffer as kernels see it. Each number has its exact bits, or an interval where rounding decides
 * them.
 */
export interface ReferenceBuffer {
  /** The length in bytes. */
  readonly byteLength: number;
  /** The exact bits. Bytes of inexact numbers hold the number that was stored before. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Returns what a kernel has stored last to the 32-bit word at an offset, if it has. */
  storedAt(offset: number): "integer" | "float" | undefined;
  /** Returns the interval of the inexact number at an offset, or undefined for exact bits. */
  rangeAt(offset: number): FloatRange | undefined;
  /**
   * Returns true if an implementation may leave these bits in the 32-bit word at an offset. Zeros
   * of floats have either sign.
   */
  allows(offset: number, word: number): boolean;
}

/** Returns a buffer with a copy of the contents. Their length is a multiple of four bytes. */
export function createReferenceBuffer(contents: ArrayBuffer | ArrayBufferView): ReferenceBuffer {
  return new BufferContents(contents);
}

/** Returns the offset of the word with the byte at an offset. A mask is wrong from 2 GiB on. */
export const startOfWord = (offset: number): number => offset - (offset % 4);

const wordOf = (offset: number) => Math.floor(offset / 4);

/** A buffer that generated code loads from and stores to. */
export class BufferContents implements ReferenceBuffer {
  readonly #bytes: DataView<ArrayBuffer>;
  /** The intervals of inexact numbers, by offset in bytes. */
  readonly #ranges = new Map<number, FloatRange>();
  /** The last store to each 32-bit word: none, of an integer, of f32, or of f16. */
  readonly #stored: Uint8Array;

  /** Copies the contents, or makes a buffer of zeros with a length in bytes. */
  constructor(contents: ArrayBuffer | ArrayBufferView | number) {
    this.#bytes = new DataView(typeof contents === "number" ? new ArrayBuffer(contents) : copyOf(contents));
    this.#stored = new Uint8Array(this.#bytes.byteLength / 4);
  }

  /** Replaces words by exact ones that no kernel has stored. */
  restore(offset: number, bytes: Uint8Array): void {
    new Uint8Array(this.#bytes.buffer, offset, bytes.length).set(bytes);
    this.#stored.fill(0, offset / 4, (offset + bytes.length) / 4);
    if (this.#ranges.size === 0) return;
    for (let at = offset; at < offset + bytes.length; at += 2) this.#ranges.delete(at);
  }

  get byteLength(): number {
    return this.#bytes.byteLength;
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#bytes.buffer);
  }

  storedAt(offset: number): "integer" | "float" | undefined {
    return ([undefined, "integer", "float", "float"] as const)[this.#stored[wordOf(offset)]!];
  }

  rangeAt(offset: number): FloatRange | undefined {
    return this.#ranges.get(offset);
  }

  allows(offset: number, word: number): boolean {
    const stored = this.#stored[wordOf(offset)];
    const allowed = (format: FloatFormat, at: number, pattern: number, expected: number) => {
      const range = this.#ranges.get(at);
      const x = format.fromBits(pattern);
      if (!range) return pattern === expected || (x === 0 && format.fromBits(expected) === 0);
      return Number.isNaN(range.low) || (x >= range.low && x <= range.high);
    };
    const expected = this.#bytes.getUint32(offset, true);
    if (stored === 2) return allowed(f32Format, offset, word >>> 0, expected);
    if (stored !== 3) return word >>> 0 === expected;
    return [0, 16].every((shift) =>
      allowed(f16Format, offset + shift / 8, (word >>> shift) & 0xffff, (expected >>> shift) & 0xffff),
    );
  }

  loadInteger(offset: number): number {
    if (this.#ranges.size > 0 && (this.#ranges.has(offset) || this.#ranges.has(offset + 2)))
      throw new Undecided("the bits of a number depend on rounding");
    return this.#bytes.getInt32(offset, true);
  }

  storeInteger(offset: number, value: number): void {
    this.#forget(offset, 4);
    this.#stored[wordOf(offset)] = 1;
    this.#bytes.setInt32(offset, value, true);
  }

  /** Loads a number, or writes the bounds of an inexact one to `r` and returns NaN. */
  loadFloat(offset: number, format: FloatFormat, r: Bounds): number {
    const range = this.#ranges.size > 0 ? this.#ranges.get(offset) : undefined;
    if (range) {
      r[0] = range.low;
      r[1] = range.high;
      return Number.NaN;
    }
    const x =
      format === f32Format
        ? this.#bytes.getFloat32(offset, true)
        : f16Format.fromBits(this.#bytes.getUint16(offset, true));
    r[0] = x > 0 && x < format.minNormal ? 0 : x;
    r[1] = x < 0 && x > -format.minNormal ? 0 : x;
    return x;
  }

  storeFloat(offset: number, format: FloatFormat, low: number, high: number): void {
    const bytes = format === f32Format ? 4 : 2;
    this.#forget(offset, bytes);
    this.#stored[wordOf(offset)] = bytes === 4 ? 2 : 3;
    if (low !== high) this.#ranges.set(offset, { low, high });
    else if (bytes === 4) this.#bytes.setFloat32(offset, low, true);
    else this.#bytes.setUint16(offset, f16Format.toBits(low), true);
  }

  #forget(offset: number, bytes: number): void {
    if (this.#ranges.size === 0) return;
    this.#ranges.delete(offset);
    if (bytes === 4) this.#ranges.delete(offset + 2);
  }
}

function copyOf(contents: ArrayBuffer | ArrayBufferView): ArrayBuffer {
  const bytes = ArrayBuffer.isView(contents)
    ? new Uint8Array(contents.buffer, contents.byteOffset, contents.byteLength)
    : new Uint8Array(contents);
  return bytes.slice().buffer;
}

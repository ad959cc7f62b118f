/** Granules: the parts of a buffer that share check words. */
import type { BufferRange } from "../webgpu/resources.ts";

/** A buffer of the program whose contents have check words. */
export interface ProtectedBuffer {
  readonly buffer: GPUBuffer;
  /** The buffer that kernels bind: the buffer itself, or the mirror of a mappable buffer. */
  readonly contents: GPUBuffer;
  /**
   * The mode in which the host can map the buffer, if any. A mappable buffer also has its check
   * words after its last granule.
   */
  readonly mapped: "read" | "write" | undefined;
  /** The size of a granule in bytes. With a checksum, the whole buffer is one granule. */
  readonly granuleBytes: number;
  /** The number of granules, and the index of the first check word in the arena. */
  readonly granules: number;
  readonly first: number;
  readonly counts: MemoryCounts;
}

/**
 * The counts of errors that were found in a buffer. A check names at most eight errors. It adds all
 * further errors to the buffer of the last named one, so the sum over all buffers is right.
 */
export interface MemoryCounts {
  /** The number of granules with a corrected error. */
  corrected: number;
  /** The number of loads that kernels corrected, in registers. */
  correctedLoads: number;
  /** The number of times that a granule had more errors than the code corrects. */
  uncorrectable: number;
  /** The bytes that Belay verified outside of the program's own kernels. */
  verifiedBytes: number;
  /** The bytes that command buffers loaded without a verification of their own. */
  trustedBytes: number;
}

/** A range of granules of a protected buffer. */
export interface GranuleRange {
  readonly owner: ProtectedBuffer;
  readonly first: number;
  readonly count: number;
}

/**
 * The size of a vector. Buffers are allocated in whole vectors, as uniform buffers consist of
 * vectors, and in whole granules.
 */
const VECTOR_BYTES = 16;

/**
 * Returns the size of a binding, in bytes, rounded up to whole vectors and granules. A protected
 * buffer always has memory for the rounded size.
 */
export function wholeGranules(size: number, granuleBytes: number): number {
  const unit = Math.max(VECTOR_BYTES, granuleBytes);
  return Math.ceil(size / unit) * unit;
}

/**
 * Returns the number and the size of a buffer's granules. An infinite granule size makes the whole
 * buffer one granule.
 */
export function granulesFor(
  size: number,
  granuleBytes: number,
): Pick<ProtectedBuffer, "granules" | "granuleBytes"> {
  if (!Number.isFinite(granuleBytes)) return { granules: 1, granuleBytes: wholeGranules(size, VECTOR_BYTES) };
  return { granules: wholeGranules(size, granuleBytes) / granuleBytes, granuleBytes };
}

/** Returns all granules of a buffer. */
export function allOf(owner: ProtectedBuffer): GranuleRange {
  return { owner, first: 0, count: owner.granules };
}

/** Returns the granules that have a byte in a range of a buffer. */
export function granulesIn(owner: ProtectedBuffer, { offset, size }: Extent): GranuleRange {
  const first = Math.min(owner.granules, Math.floor(offset / owner.granuleBytes));
  const end = Math.min(owner.granules, Math.ceil((offset + size) / owner.granuleBytes));
  return { owner, first, count: Math.max(0, end - first) };
}

/** Returns the byte range of granules. */
export function bytesOf({ owner, first, count }: GranuleRange): BufferRange {
  const { buffer, granuleBytes } = owner;
  return { buffer, offset: first * granuleBytes, size: count * granuleBytes };
}

/**
 * Returns the granules whose bytes a write replaces completely (`body`), and those of which it
 * keeps some bytes (`edges`). Bytes after the end of a buffer are always zero, so nothing is kept
 * there.
 */
export function splitWrite(owner: ProtectedBuffer, { offset, size }: Extent) {
  const start = offset / owner.granuleBytes;
  const isAtEnd = offset + size >= owner.buffer.size;
  const end = isAtEnd
    ? Math.ceil(owner.buffer.size / owner.granuleBytes)
    : (offset + size) / owner.granuleBytes;
  const [first, last] = [Math.ceil(start), Math.floor(end)];
  const granules = (from: number, to: number) => ({ owner, first: from, count: Math.max(0, to - from) });
  const edges =
    first > last
      ? [granules(Math.floor(start), Math.ceil(end))]
      : [granules(Math.floor(start), first), granules(last, Math.ceil(end))];
  return { body: granules(first, last), edges: edges.filter(({ count }) => count > 0) };
}

/** The zero bytes after the end of a buffer that fill its last granules and vectors. */
export interface Padding {
  readonly range: BufferRange;
  /** The granules that consist of padding only. */
  readonly granules: GranuleRange;
}

/**
 * Returns the padding after granules that reach the end of their buffer; undefined if there is
 * none.
 */
export function paddingAfter({ owner, first, count }: GranuleRange): Padding | undefined {
  const { buffer, contents, granules, granuleBytes } = owner;
  const offset = Math.ceil(buffer.size / 4) * 4;
  const size = granules * granuleBytes - offset;
  if (count === 0 || (first + count) * granuleBytes < offset || size <= 0) return undefined;
  const own = Math.ceil(offset / granuleBytes);
  return {
    range: { buffer: contents, offset, size },
    granules: { owner, first: own, count: granules - own },
  };
}

type Extent = Pick<BufferRange, "offset" | "size">;

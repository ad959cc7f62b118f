/** Granules: the parts of a buffer that have a check word each. */
import type { BufferRange } from "../webgpu/resources.ts";

/** A buffer of the program's whose contents have check words. */
export interface ProtectedBuffer {
  readonly buffer: GPUBuffer;
  /**
   * Where kernels find the contents: the buffer itself, or the mirror of one that can be mapped.
   */
  readonly contents: GPUBuffer;
  /**
   * How the host can map it, if at all. Its check words then stand behind its whole granules, too.
   */
  readonly mapped: "read" | "write" | undefined;
  /** Bytes of a granule; all of the buffer's where one checksum is for all of it. */
  readonly granuleBytes: number;
  /** Whole granules that it takes, and where in the arena the check word of the first one is. */
  readonly granules: number;
  readonly first: number;
  readonly counts: MemoryCounts;
}

/**
 * What was found in a buffer. A check that finds more than eight errors names the first eight; the
 * others count for the buffer of the last of these, so that the sum over all buffers is always
 * right.
 */
export interface MemoryCounts {
  /** Granules with an error that was corrected. */
  corrected: number;
  /** Loads that kernels corrected, in registers. */
  correctedLoads: number;
  /** Granules with more errors than the code corrects, each time that one was found. */
  uncorrectable: number;
  /** Bytes that Belay has verified, other than in the program's own kernels. */
  verifiedBytes: number;
}

/** Some granules of a protected buffer. */
export interface Granules {
  readonly owner: ProtectedBuffer;
  readonly first: number;
  readonly count: number;
}

/**
 * Buffers are allocated in whole vectors, as uniform buffers are made of these, and in whole
 * granules.
 */
const VECTOR_BYTES = 16;

/**
 * Bytes of a binding in whole vectors and granules. What a binding of a protected buffer ends with
 * is always allocated.
 */
export function wholeGranules(size: number, granuleBytes: number): number {
  const unit = Math.max(VECTOR_BYTES, granuleBytes);
  return Math.ceil(size / unit) * unit;
}

/**
 * How many granules a buffer takes, of how many bytes. Granules without an end make one of all of
 * the buffer.
 */
export function granulesFor(
  size: number,
  granuleBytes: number,
): Pick<ProtectedBuffer, "granules" | "granuleBytes"> {
  if (!Number.isFinite(granuleBytes)) return { granules: 1, granuleBytes: wholeGranules(size, VECTOR_BYTES) };
  return { granules: wholeGranules(size, granuleBytes) / granuleBytes, granuleBytes };
}

/** All granules of a buffer. */
export function allOf(owner: ProtectedBuffer): Granules {
  return { owner, first: 0, count: owner.granules };
}

/** The granules that have a byte in a part of a buffer. */
export function granulesIn(owner: ProtectedBuffer, { offset, size }: Extent): Granules {
  const first = Math.min(owner.granules, Math.floor(offset / owner.granuleBytes));
  const end = Math.min(owner.granules, Math.ceil((offset + size) / owner.granuleBytes));
  return { owner, first, count: Math.max(0, end - first) };
}

/** The same granules in bytes. */
export function bytesOf({ owner, first, count }: Granules): BufferRange {
  const { buffer, granuleBytes } = owner;
  return { buffer, offset: first * granuleBytes, size: count * granuleBytes };
}

/**
 * The granules of which a write to a part of a buffer replaces all bytes, and those of which it
 * leaves some. What is behind the end of a buffer is always zero.
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

/** What a buffer has behind its end to fill granules and vectors: always zero. */
export interface Padding {
  readonly range: BufferRange;
  /** The granules that have nothing else. */
  readonly granules: Granules;
}

/** Returns the padding behind granules, where these reach the end of a buffer that has any. */
export function paddingBehind({ owner, first, count }: Granules): Padding | undefined {
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

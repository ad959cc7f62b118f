/** A buffer that is mapped. */
export interface Mapping {
  /** What the program has mapped. */
  readonly offset: number;
  readonly size: number;
  /** All granules that have a byte in it, as far as the buffer goes, and where they begin. */
  readonly start: number;
  /** The device's memory where the host reads, and memory of the host's own where it writes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly isWritten: boolean;
  /** What the program was given of it. */
  readonly given: { readonly offset: number; readonly buffer: ArrayBuffer }[];
}

/**
 * Returns a part of what is mapped, by the rules of `getMappedRange`: the memory itself, or a copy of some of it. Undefined
 * where the rules refuse it.
 */
export function give(
  { offset: first, size: all, start, bytes, given }: Mapping,
  buffer: GPUBuffer,
  offset = 0,
  size = Math.max(0, buffer.size - offset),
): ArrayBuffer | undefined {
  const isInside = offset >= first && offset + size <= first + all;
  const isTaken = given.some(
    (part) => offset < part.offset + part.buffer.byteLength && part.offset < offset + size,
  );
  if (!isInside || isTaken || offset % 8 !== 0 || size % 4 !== 0) return undefined;
  const isAll = offset === start && size === bytes.buffer.byteLength;
  const part = isAll ? bytes.buffer : bytes.slice(offset - start, offset - start + size).buffer;
  given.push({ offset, buffer: part as ArrayBuffer });
  return part as ArrayBuffer;
}

/** Takes memory away from the program when its buffer is unmapped, as WebGPU does; returns it under another name. */
export function detach(buffer: ArrayBuffer): ArrayBuffer {
  return structuredClone(buffer, { transfer: [buffer] });
}

/** Where a part of a buffer is, as the functions that access it compute it. */

/**
 * A multiple of `stride` bytes: `index` is WGSL of type u32, in bounds, that may be evaluated
 * again.
 */
interface Term {
  readonly index: string;
  readonly stride: number;
}

/** A byte offset: terms that are known when the kernel runs, and the part that is known now. */
export interface ByteOffset {
  readonly terms: readonly Term[];
  readonly at: number;
}

export const moved = (address: ByteOffset, bytes: number): ByteOffset => ({
  ...address,
  at: address.at + bytes,
});

export const indexed = (address: ByteOffset, index: string, stride: number): ByteOffset => ({
  ...address,
  terms: [...address.terms, { index, stride }],
});

/**
 * The largest power of two, of at most `most`, that the unknown part is known to be a multiple of.
 */
export function alignmentOf({ terms }: ByteOffset, most: number): number {
  return terms.reduce((least, { stride }) => Math.min(least, stride & -stride), most);
}

/**
 * The address in units of `unit` bytes, rounded down, as WGSL; the unknown part must be a multiple
 * of them.
 */
export function inUnits({ terms, at }: ByteOffset, unit: number): string {
  const known = Math.floor(at / unit);
  const parts = terms.map(({ index, stride }) => (stride === unit ? index : `${index} * ${stride / unit}u`));
  return [...parts, ...(known > 0 || parts.length === 0 ? [`${known}u`] : [])].join(" + ");
}

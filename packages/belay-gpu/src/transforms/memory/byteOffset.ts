/** The offset of a part of a buffer, as the functions that access it compute it. */

/**
 * A multiple of `stride` bytes. `index` is WGSL of type u32, in bounds, and may be evaluated again.
 */
interface Term {
  readonly index: string;
  readonly stride: number;
}

/**
 * A byte offset: terms whose values are known at run time, and `at`, which is known at compile
 * time.
 */
export interface ByteOffset {
  readonly terms: readonly Term[];
  readonly at: number;
}

/** Returns an offset `bytes` further. */
export const moved = (address: ByteOffset, bytes: number): ByteOffset => ({
  ...address,
  at: address.at + bytes,
});

/** Returns an offset with a term added. */
export const indexed = (address: ByteOffset, index: string, stride: number): ByteOffset => ({
  ...address,
  terms: [...address.terms, { index, stride }],
});

/**
 * Returns the largest power of two, at most `most`, that divides every value of the unknown part.
 */
export function alignmentOf({ terms }: ByteOffset, most: number): number {
  return terms.reduce((least, { stride }) => Math.min(least, stride & -stride), most);
}

/**
 * Returns an offset in units of `unit` bytes, rounded down, as WGSL. The unknown part must be a
 * multiple of `unit`.
 */
export function inUnits({ terms, at }: ByteOffset, unit: number): string {
  const known = Math.floor(at / unit);
  const parts = terms.map(({ index, stride }) => (stride === unit ? index : `${index} * ${stride / unit}u`));
  return [...parts, ...(known > 0 || parts.length === 0 ? [`${known}u`] : [])].join(" + ");
}

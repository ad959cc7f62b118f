/** Coded memory with wrong bits. */
import type { MemoryScheme } from "belay-gpu/internal/ecc/scheme";

export interface CodedWords {
  readonly data: Uint32Array;
  readonly checks: Uint32Array;
}

export const wordsOf = ({ granuleBytes }: MemoryScheme) => granuleBytes / 4;

/** Returns the number of bits of a granule and its check word. Bits are numbered in this order. */
export const bitsOf = (scheme: MemoryScheme) => 8 * scheme.granuleBytes + 32;

export function arbitraryWords(count: number, seed = 1): Uint32Array {
  return Uint32Array.from({ length: count }, (_, i) => Math.imul(i + seed, 0x9e3779b9) ^ Math.imul(i, i));
}

export function checksOf(scheme: MemoryScheme, data: Uint32Array): Uint32Array {
  const checks = new Uint32Array(data.length / wordsOf(scheme));
  scheme.encode(data, checks);
  return checks;
}

/** Returns a granule for each set of wrong bits, all with the same contents otherwise. */
export function wrongGranules(
  scheme: MemoryScheme,
  content: Uint32Array,
  errors: readonly (readonly number[])[],
): CodedWords {
  const words = wordsOf(scheme);
  const data = new Uint32Array(errors.length * words);
  const checks = new Uint32Array(errors.length).fill(checksOf(scheme, content)[0]!);
  errors.forEach((bits, granule) => {
    data.set(content, granule * words);
    for (const bit of bits) {
      if (bit < 32 * words) data[granule * words + (bit >>> 5)]! ^= 1 << (bit & 31);
      else checks[granule]! ^= 1 << (bit & 31);
    }
  });
  return { data, checks };
}

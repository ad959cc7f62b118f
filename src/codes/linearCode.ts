/** Linear codes over GF(2) by their columns, and what follows from these alone. */

export interface LinearCode {
  /** Words of data in a granule. */
  readonly words: number;
  /** Bits of the check word that are used. */
  readonly checkBits: number;
  /** The check word of each single bit of data, lowest bit of the first word first. */
  readonly columns: Uint32Array;
}

/** A code from the check word of one bit of one word. */
export function linearCode(
  words: number,
  checkBits: number,
  column: (position: number, bit: number) => number,
): LinearCode {
  const columns = Uint32Array.from({ length: 32 * words }, (_, i) => column(i >>> 5, i & 31));
  return { words, checkBits, columns };
}

/** The check word of one granule, bit by bit: what faster encoders are held to. */
export function checkWord({ words, columns }: LinearCode, data: Uint32Array, granule = 0): number {
  let check = 0;
  for (let i = 0; i < 32 * words; i++) {
    if ((data[granule * words + (i >>> 5)]! >>> (i & 31)) & 1) check ^= columns[i]!;
  }
  return check >>> 0;
}

/** The bit that is wrong where a syndrome says so: its index in the columns, or from there on in the check word. */
export type Locate = (syndrome: number) => number | undefined;

/** Finds single wrong bits of a code with distinct columns, none of which is that of a check bit. */
export function locator({ columns }: LinearCode): Locate {
  const places = new Map<number, number>();
  columns.forEach((column, i) => {
    places.set(column, i);
  });
  for (let bit = 0; bit < 32; bit++) places.set((1 << bit) >>> 0, columns.length + bit);
  return (syndrome) => places.get(syndrome);
}

/** For codes that only detect. */
export const locateNothing: Locate = () => undefined;

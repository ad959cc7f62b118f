/**
 * What a code is made of: its columns, how its check words are computed, and what is done about
 * errors.
 */

/** A linear code over GF(2). */
export interface Columns {
  /** Words of data in a granule. */
  readonly words: number;
  /** Bits of the check word that are used, the lowest ones; the others are zero. */
  readonly checkBits: number;
  /** The check word of each single bit of data, lowest bit of the first word first. */
  readonly columns: Uint32Array;
}

export interface LinearCode extends Columns {
  readonly host: HostPasses;
  readonly correction: CodeCorrection;
  /** WGSL of `encode`, `contribution` and `quad`, as `MemoryScheme` describes them. */
  wgsl(prefix: string): string;
}

/** What the host does with whole buffers, so it has to be fast. */
export interface HostPasses {
  /** Writes the check word of each granule. */
  encode(data: Uint32Array, checks: Uint32Array): void;
  /** The first granule from `from` on that disagrees with its check word, or `end`. */
  mismatch(data: Uint32Array, checks: Uint32Array, from: number, end: number): number;
}

/** What a syndrome that is not zero says. */
export interface CodeCorrection {
  readonly corrects: boolean;
  /**
   * The wrong bits, as indices of columns, those of the check word following; undefined where they
   * cannot be told.
   */
  locate(syndrome: number): readonly number[] | undefined;
  /** WGSL of `Corrected` and `correct`. */
  wgsl(prefix: string): string;
  /** WGSL of `wrong` and `status`, which goes with it. */
  wgslOfParts(prefix: string): string;
}

/** The columns of a code from the check word of one bit of one word. */
export function columnsOf(
  words: number,
  checkBits: number,
  column: (position: number, bit: number) => number,
): Columns {
  const columns = Uint32Array.from({ length: 32 * words }, (_, i) => column(i >>> 5, i & 31));
  return { words, checkBits, columns };
}

/** The check word of one granule, bit by bit: what faster encoders are held to. */
export function checkWord({ words, columns }: Columns, data: Uint32Array, granule = 0): number {
  let check = 0;
  for (let position = 0; position < words; position++) {
    for (let rest = data[granule * words + position]!; rest !== 0; rest &= rest - 1)
      check ^= columns[32 * position + 31 - Math.clz32(rest & -rest)]!;
  }
  return check >>> 0;
}

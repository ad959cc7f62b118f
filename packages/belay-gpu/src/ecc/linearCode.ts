/**
 * The parts of a code: its columns, the computation of check words, and the correction of errors.
 */

/** A linear code over GF(2). */
export interface Columns {
  /** The number of data words in a granule. */
  readonly words: number;
  /** The number of check bits in use, the lowest ones. The others are zero. */
  readonly checkBits: number;
  /** The check word of each single data bit, beginning with the lowest bit of the first word. */
  readonly columns: Uint32Array;
}

export interface LinearCode extends Columns {
  readonly host: HostPasses;
  readonly correction: CodeCorrection;
  /** Returns the WGSL of `encode`, `contribution` and `quad` (`MemoryScheme`). */
  wgsl(prefix: string): string;
}

/** The host's passes over whole buffers, which have to be fast. */
export interface HostPasses {
  /** Writes the check word of each granule. */
  encode(data: Uint32Array, checks: Uint32Array): void;
  /** Returns the first granule from `from` on that does not fit its check word, or `end`. */
  mismatch(data: Uint32Array, checks: Uint32Array, from: number, end: number): number;
}

/** The meaning of nonzero syndromes. */
export interface CodeCorrection {
  readonly corrects: boolean;
  /**
   * Returns the wrong bits as indices of columns, after which those of the check word are numbered.
   * Returns undefined if they cannot be located.
   */
  locate(syndrome: number): readonly number[] | undefined;
  /** Returns the WGSL of `Corrected` and `correct`. */
  wgsl(prefix: string): string;
  /** Returns the WGSL of `wrong` and `status`, to be added to that of `wgsl`. */
  wgslOfParts(prefix: string): string;
}

/** Returns the columns of a code, given the check word of each bit of each word. */
export function columnsOf(
  words: number,
  checkBits: number,
  column: (position: number, bit: number) => number,
): Columns {
  const columns = Uint32Array.from({ length: 32 * words }, (_, i) => column(i >>> 5, i & 31));
  return { words, checkBits, columns };
}

/**
 * Returns the check word of one granule, computed bit by bit. Tests compare faster encoders with
 * it.
 */
export function checkWord({ words, columns }: Columns, data: Uint32Array, granule = 0): number {
  let check = 0;
  for (let position = 0; position < words; position++) {
    for (let rest = data[granule * words + position]!; rest !== 0; rest &= rest - 1)
      check ^= columns[32 * position + 31 - Math.clz32(rest & -rest)]!;
  }
  return check >>> 0;
}

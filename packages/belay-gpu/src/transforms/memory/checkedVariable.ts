import type { MemoryScheme } from "../../ecc/scheme.ts";

/** The bytes of a line that one lane accesses. */
export type PieceBytes = 4 | 8 | 16;

/** A variable whose granules are checked. */
export interface CheckedVariable {
  /** The name of the variable in the program. */
  readonly name: string;
  /** The row of the variable in the table. */
  readonly index: number;
  readonly scheme: MemoryScheme;
  /**
   * The size of a piece. Set if the granules are lines, whose pieces are accessed by different
   * lanes.
   */
  readonly pieceBytes?: PieceBytes;
}

/** The variable of granules or pieces that replaces a buffer's variable. */
export interface GranuleWords {
  readonly name: string;
  readonly isUniform: boolean;
}

/** Returns the bytes of the unit of access: a granule, or a piece of a line. */
export const unitOf = ({ scheme, pieceBytes }: CheckedVariable): number => pieceBytes ?? scheme.granuleBytes;

/** Returns the type of a granule or piece, as WGSL. */
export function wordsType(bytes: number): string {
  return bytes === 4 ? "u32" : `vec${bytes / 4}<u32>`;
}

/** Returns a granule or piece as it is in memory, uncorrected, as WGSL. */
export function asIs(checked: CheckedVariable, { name, isUniform }: GranuleWords, number: string): string {
  return isUniform ? uniformGranule(name, number, unitOf(checked)) : `${name}[${number}]`;
}

/** Returns a granule of a uniform buffer, whose arrays have elements of 16 bytes. */
function uniformGranule(words: string, granule: string, granuleBytes: number): string {
  if (granuleBytes === 16) return `${words}[${granule}]`;
  if (granuleBytes === 4) return `${words}[${granule} / 4u][${granule} % 4u]`;
  const pair = `${words}[${granule} / 2u]`;
  return `select(${pair}.zw, ${pair}.xy, ${granule} % 2u == 0u)`;
}

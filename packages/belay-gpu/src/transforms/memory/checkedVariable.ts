import type { MemoryScheme } from "../../codes/scheme.ts";

/** Bytes that a lane accesses of a line. */
export type PieceBytes = 4 | 8 | 16;

/** A variable whose granules are checked. */
export interface CheckedVariable {
  /** Its name in the program. */
  readonly name: string;
  /** Its row in the table. */
  readonly index: number;
  readonly scheme: MemoryScheme;
  /** Set when its granules are lines, of which lanes access pieces of so many bytes. */
  readonly pieceBytes?: PieceBytes;
}

/** The variable of granules or pieces that stands for a buffer. */
export interface GranuleWords {
  readonly name: string;
  readonly isUniform: boolean;
}

/** Bytes that accesses are made of: a granule, or a piece of a line. */
export const unitOf = ({ scheme, pieceBytes }: CheckedVariable): number => pieceBytes ?? scheme.granuleBytes;

/** A granule or piece as a value. */
export function wordsType(bytes: number): string {
  return bytes === 4 ? "u32" : `vec${bytes / 4}<u32>`;
}

/** The granule or piece of a number as memory has it, as WGSL. */
export function asIs(checked: CheckedVariable, { name, isUniform }: GranuleWords, number: string): string {
  return isUniform ? uniformGranule(name, number, unitOf(checked)) : `${name}[${number}]`;
}

/** A granule of a uniform buffer, whose arrays have elements of 16 bytes. */
function uniformGranule(words: string, granule: string, granuleBytes: number): string {
  if (granuleBytes === 16) return `${words}[${granule}]`;
  if (granuleBytes === 4) return `${words}[${granule} / 4u][${granule} % 4u]`;
  const pair = `${words}[${granule} / 2u]`;
  return `select(${pair}.zw, ${pair}.xy, ${granule} % 2u == 0u)`;
}

/**
 * Lines: granules that neighbouring lanes of a subgroup access together, each a piece. Every code is linear, so the check word of a
 * line is the sum of what its pieces contribute, each of which its lane computes.
 */
import type { MemoryScheme } from "../../codes/scheme.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../names.ts";
import type { Library } from "./library.ts";

/** Bytes that a lane accesses of a line. */
export type PieceBytes = 4 | 8 | 16;

/** A piece as a value. */
export function wordsType(bytes: number): string {
  return bytes === 4 ? "u32" : `vec${bytes / 4}<u32>`;
}

export class Lines {
  readonly #names: Names;
  readonly #library: Library;

  constructor(names: Names, library: Library) {
    this.#names = names;
    this.#library = library;
  }

  /** The number of the lane in its subgroup: entry points set it first. */
  lane(): string {
    return this.#library.make(
      this.#names.the("lane"),
      (name) => quote().declarations`var<private> ${name}: u32;`,
    );
  }

  /** `fn(piece: u32) -> bool`: whether all lanes are there that share a line, of so many pieces, and have them in their order. */
  inOrder(pieces: number): string {
    const lane = this.lane();
    const all = pieces === 32 ? "0xffffffffu" : `${2 ** pieces - 1}u`;
    return this.#library.make(
      this.#names.the(`in_order_of_${pieces}`),
      (name) => quote().declarations`fn ${name}(piece: u32) -> bool {
        let rank = ${lane} % ${pieces}u;
        let first = ${lane} - rank;
        let lanes = (subgroupBallot(true)[first / 32u] >> (first % 32u)) & ${all};
        let is_next = piece % ${pieces}u == rank && subgroupShuffle(piece, first) + rank == piece;
        return subgroupAll(lanes == ${all} && is_next);
      }`,
    );
  }

  /** WGSL for what a piece, at the place `rank` in its line, contributes to the check word. */
  contribution(code: string, bytes: PieceBytes, rank: string, data: string): string {
    if (bytes === 16) return `${code}quad(${rank}, ${data})`;
    if (bytes === 4) return `${code}contribution(${rank}, ${data})`;
    return `(${code}contribution(2u * ${rank}, ${data}.x) ^ ${code}contribution(2u * ${rank} + 1u, ${data}.y))`;
  }

  /** A statement that makes of a variable, in every lane of a line, the sum of what they have in it. */
  summed(variable: string, pieces: number): string {
    return Array.from(
      { length: Math.log2(pieces) },
      (_, step) => `${variable} ^= subgroupShuffleXor(${variable}, ${2 ** step}u);`,
    ).join(" ");
  }
}

/** WGSL for the words of a whole line, from its pieces. */
export function wholeLine(
  { granuleBytes, granuleType }: MemoryScheme,
  bytes: PieceBytes,
  piece: (i: number) => string,
): string {
  const vector = Math.min(16, granuleBytes);
  const vectors = Array.from({ length: granuleBytes / vector }, (_, at) => {
    const parts = Array.from({ length: vector / bytes }, (_, i) => piece((at * vector) / bytes + i));
    return parts.length === 1 ? parts[0]! : `${wordsType(vector)}(${parts.join(", ")})`;
  });
  return vectors.length === 1 ? vectors[0]! : `${granuleType}(${vectors.join(", ")})`;
}

/** WGSL for the piece at a place of a whole line. */
export function pieceOf(
  line: string,
  { granuleBytes }: MemoryScheme,
  bytes: PieceBytes,
  rank: string,
): string {
  const word = (i: string) => (granuleBytes > 16 ? `${line}[${i} / 4u][${i} % 4u]` : `${line}[${i}]`);
  if (bytes === 16) return `${line}[${rank}]`;
  if (bytes === 4) return word(rank);
  return `vec2<u32>(${word(`(2u * ${rank})`)}, ${word(`(2u * ${rank} + 1u)`)})`;
}

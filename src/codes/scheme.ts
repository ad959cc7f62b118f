/** What the compiler and the runtime know of a code: the memory it covers, its host side, and its WGSL. */
import { quasiCyclic } from "./quasiCyclic.ts";

export type SchemeName = "secded32" | "secded64" | "secded128" | "detect";

/** What `verify` found. */
export interface Verification {
  /** Bits put right, in data or in check words. */
  readonly corrected: number;
  /** The granules that have more errors than the code corrects, in ascending order; they are left as they were. */
  readonly uncorrectable: readonly number[];
}

/**
 * A code together with its granule: the bytes of data that one check word, a `u32`, belongs to. Every code is linear over
 * GF(2): the check word of a granule is the XOR of a contribution of each of its words, so zero data has a zero check word,
 * and a partial store may update it by `check ^= contribution(position, old ^ new)`.
 */
export interface MemoryScheme {
  readonly name: SchemeName;
  readonly granuleBytes: 4 | 8 | 16 | 32;
  /** Whether one wrong bit in a granule or in its check word is corrected; otherwise it is only noticed. */
  readonly corrects: boolean;
  /** Bits of the check word that the code uses; the others are zero. */
  readonly checkBits: number;
  /** Writes the check word of each granule of `data`, which holds whole granules. */
  encode(data: Uint32Array, checks: Uint32Array): void;
  /** Corrects `data` and `checks` in place. */
  verify(data: Uint32Array, checks: Uint32Array): Verification;
  /**
   * Declarations of WGSL, each name with `prefix` before it, where `W` is `u32`, `vec2<u32>`, `vec4<u32>` or an array of
   * `vec4<u32>` for larger granules:
   *
   * - `fn encode(data: W) -> u32`
   * - `fn contribution(position: u32, word: u32) -> u32`, of one word of the granule
   * - `fn syndrome(data: W, check: u32) -> u32`, zero where all is well
   * - `fn correct(data: W, syndrome: u32) -> Corrected`, of `struct Corrected { data: W, status: u32 }` with `status` 0 for
   *   a syndrome of zero, 1 for an error that is corrected (it may be in the check word), 2 for an uncorrectable one
   */
  wgsl(prefix: string): string;
}

/** All schemes by the names that policies use. */
export const schemes: Readonly<Record<SchemeName, MemoryScheme>> = {
  secded32: quasiCyclic("secded32", 1),
  secded64: quasiCyclic("secded64", 2),
  secded128: quasiCyclic("secded128", 4),
  detect: quasiCyclic("detect", 4, { corrects: false }),
};

/** The quasi-cyclic codes with vectors: four granules at once, one word of each in a vector. */
import type { Code } from "./assembler.ts";
import { v128 } from "./assembler.ts";
import type { DataBlock, VectorKernel } from "./blocks.ts";

/**
 * Returns the kernel that sums w + R^(near + q) h + R^far h, as in `quasiCyclic`. R rotates left by
 * one bit.
 */
export function rotations(words: number, near: number, far: number): VectorKernel {
  const quads = Math.ceil(words / 4);
  return {
    granules: 4,
    checks(block) {
      const sums: Code[] = [];
      const turned: Code[] = [];
      for (let quad = 0; quad < quads; quad++) {
        const loaded = wordsOfQuad(block, words, quad);
        const sum = loaded.map((word, r) => rotated(word, r)).reduce(v128.xor);
        const kept = block.keep(sum);
        turned.push(kept);
        sums.push(...loaded, rotated(kept, near + quad));
      }
      return [v128.xor(sums.reduce(v128.xor), rotated(block.keep(turned.reduce(v128.xor)), far))];
    },
  };
}

/** Returns the words of a quad, or of all if there are fewer, of four granules each. */
function wordsOfQuad({ load, keep }: DataBlock, words: number, quad: number): Code[] {
  if (words === 1) return [keep(load(0))];
  if (words === 2) {
    const [a, b] = [keep(load(0)), keep(load(1))];
    return [keep(pick(a, b, 0, 2, 4, 6)), keep(pick(a, b, 1, 3, 5, 7))];
  }
  const [a, b, c, d] = [0, 1, 2, 3].map((granule) => keep(load((granule * words) / 4 + quad))) as [
    Code,
    Code,
    Code,
    Code,
  ];
  const [lowAb, highAb] = [keep(pick(a, b, 0, 4, 1, 5)), keep(pick(a, b, 2, 6, 3, 7))];
  const [lowCd, highCd] = [keep(pick(c, d, 0, 4, 1, 5)), keep(pick(c, d, 2, 6, 3, 7))];
  return [
    keep(pick(lowAb, lowCd, 0, 1, 4, 5)),
    keep(pick(lowAb, lowCd, 2, 3, 6, 7)),
    keep(pick(highAb, highCd, 0, 1, 4, 5)),
    keep(pick(highAb, highCd, 2, 3, 6, 7)),
  ];
}

/** Returns a vector of selected words of two vectors. */
function pick(a: Code, b: Code, ...words: number[]): Code {
  return v128.shuffle(
    a,
    b,
    words.flatMap((word) => [4 * word, 4 * word + 1, 4 * word + 2, 4 * word + 3]),
  );
}

function rotated(words: Code, by: number): Code {
  if (by === 0) return words;
  if (by === 16) return v128.shuffle(words, words, [2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13]);
  return v128.or(v128.shiftWordsLeft(words, by), v128.shiftWordsRight(words, 32 - by));
}

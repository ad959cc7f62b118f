/**
 * A kernel for any linear code with vectors: sixteen granules at once, one byte of each in a
 * vector. A table of sixteen bytes belongs to each half of a byte and each byte of the check words.
 */
import { type Columns, checkWord } from "belay-gpu/internal/ecc/linearCode";
import { type Code, v128 } from "belay-gpu/internal/ecc/simd/assembler";
import type { VectorKernel } from "belay-gpu/internal/ecc/simd/blocks";

const lanes = 16;
const bytesOfCheck = 4;

export function nibbleTables({ words, columns, checkBits }: Columns): VectorKernel {
  const bytes = 4 * words;
  const zero = v128.constant(new Array(lanes).fill(0));
  const low = v128.constant(new Array(lanes).fill(15));
  return {
    granules: lanes,
    checks({ load, keep }) {
      const streams = apart(
        Array.from({ length: bytes }, (_, i) => load(i)),
        bytes,
        keep,
      );
      const halves = streams.flatMap((stream) => [
        keep(v128.and(stream, low)),
        keep(v128.shiftBytesRight(stream, 4)),
      ]);
      const sums = Array.from({ length: bytesOfCheck }, (_, byte) => {
        if (8 * byte >= checkBits) return zero;
        const found = halves.map((half, i) => v128.swizzle(v128.constant(table(i, byte)), half));
        return keep(found.reduce(v128.xor));
      });
      return together(sums, keep);
    },
  };

  /** Returns one byte of the check word for each value of four bits. */
  function table(nibble: number, byte: number): number[] {
    return Array.from({ length: 16 }, (_, value) => {
      const part = columns.subarray(4 * nibble, 4 * nibble + 4);
      const check = checkWord({ words: 1, checkBits, columns: part }, Uint32Array.of(value));
      return (check >>> (8 * byte)) & 255;
    });
  }
}

const numbers = Array.from({ length: lanes }, (_, i) => i);

/** Returns the vectors of the bytes at each phase, from vectors of bytes with a period. */
function apart(vectors: readonly Code[], period: number, keep: (value: Code) => Code): Code[] {
  if (period === 1) return [...vectors];
  const kept = vectors.map(keep);
  const half = (odd: number) =>
    kept.flatMap((vector, i) =>
      i % 2 === 0
        ? [
            v128.shuffle(
              vector,
              kept[i + 1]!,
              numbers.map((k) => 2 * k + odd),
            ),
          ]
        : [],
    );
  // The phases of both halves interleave.
  const [even, odd] = [apart(half(0), period / 2, keep), apart(half(1), period / 2, keep)];
  return even.flatMap((vector, i) => [vector, odd[i]!]);
}

/**
 * Returns four vectors of words from four vectors of bytes. Each word has one byte of each vector.
 */
function together([a, b, c, d]: readonly Code[], keep: (value: Code) => Code): Code[] {
  const interleaved = (x: Code, y: Code, start: number, unit: number) =>
    v128.shuffle(
      x,
      y,
      numbers.map((k) => {
        const at = start + Math.floor(k / 2 / unit) * unit + (k % unit);
        return Math.floor(k / unit) % 2 === 0 ? at : lanes + at;
      }),
    );
  return [0, 8].flatMap((start) => {
    const pairs = [keep(interleaved(a!, b!, start, 1)), keep(interleaved(c!, d!, start, 1))] as const;
    return [0, 8].map((from) => interleaved(...pairs, from, 2));
  });
}

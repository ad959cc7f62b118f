import { randomBelow, randomWord, randomWords } from "../random.ts";
import { headWidth, type MatrixShape, type Shape } from "./shape.ts";

/** The weights that share a scale. */
export const BLOCK = 32;
/** The weights in a word. */
export const WEIGHTS_PER_WORD = 8;
/** The 4-bit number that stands for zero. */
export const ZERO = 8;

/** A matrix of 4-bit weights. Row after row, each block has four words and a scale. */
export interface QuantizedMatrix extends MatrixShape {
  /** The words with eight weights each, lowest bits first. */
  readonly words: Uint32Array;
  /** The scales of all blocks, which 16-bit floats hold exactly. */
  readonly scales: Float32Array;
}

/**
 * Makes a matrix whose rows have a norm near 1. Products with it therefore keep the size of
 * numbers, as in a trained model.
 */
export function makeMatrix({ rows, columns }: MatrixShape, seed: number): QuantizedMatrix {
  // Numbers from -8 to 7 have a standard deviation of 4.6. A scale is up to 1.9 times `least`.
  const least = 2 ** Math.floor(-Math.log2(4.6 * Math.sqrt(columns)));
  const scales = new Float32Array((rows * columns) / BLOCK);
  for (let i = 0; i < scales.length; i++) scales[i] = least * (1 + randomBelow(8, seed + 1, i) / 8);
  return { rows, columns, words: randomWords((rows * columns) / WEIGHTS_PER_WORD, seed), scales };
}

/** Returns the weight at a row and a column. */
export function weightAt(matrix: QuantizedMatrix, row: number, column: number): number {
  const index = row * matrix.columns + column;
  const shift = 4 * (index % WEIGHTS_PER_WORD);
  const bits = (matrix.words[Math.floor(index / WEIGHTS_PER_WORD)]! >>> shift) & 15;
  return (bits - ZERO) * matrix.scales[Math.floor(index / BLOCK)]!;
}

/** Makes the factors of a norm, which 16-bit floats hold exactly. */
export function makeGain(width: number, seed: number): Float32Array {
  return Float32Array.from({ length: width }, (_, i) => 1 + (randomBelow(32, seed, i) - 16) / 64);
}

/** Makes the tokens of a prompt. */
export function makePrompt({ prompt, vocabulary }: Shape, seed: number): Uint32Array {
  return Uint32Array.from({ length: prompt }, (_, i) => randomBelow(vocabulary, seed, i));
}

/** Returns the cosine and the sine for each position and each pair of numbers in a head. */
export function makeRotations(shape: Shape, positions: number): Float32Array {
  const pairs = headWidth(shape) / 2;
  const rotations = new Float32Array(2 * positions * pairs);
  for (let position = 0; position < positions; position++) {
    for (let pair = 0; pair < pairs; pair++) {
      const angle = position * 10_000 ** (-pair / pairs);
      const at = 2 * (position * pairs + pair);
      rotations[at] = Math.cos(angle);
      rotations[at + 1] = Math.sin(angle);
    }
  }
  return rotations;
}

/** Returns the number in [0, 1) that chooses the token after `position`, with 24 bits. */
export const chanceAt = (seed: number, position: number): number =>
  (randomWord(seed, position) >>> 8) / 2 ** 24;

const float = new Float32Array(1);
const floatBits = new Uint32Array(float.buffer);

/** Returns the bits of a number that is exact and normal as a 16-bit float, or zero. */
export function halfBits(x: number): number {
  float[0] = x;
  const bits = floatBits[0]!;
  if (x === 0) return bits >>> 16;
  // The exponents of 32 and 16 bits are biased by 127 and 15.
  return ((bits >>> 16) & 0x8000) | ((((bits >>> 23) & 255) - 112) << 10) | ((bits >>> 13) & 1023);
}

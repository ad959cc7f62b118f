import type { Operand } from "./operand.ts";
import type { Precision } from "./symbols.ts";

/**
 * A digit of the results' index, or of the terms' index: the number of its values, and how far one
 * step moves the address in each operand.
 */
export interface Dimension {
  /** The number of values. */
  readonly size: number;
  /** The step in the left operand. */
  readonly left: number;
  /** The step in the right operand. */
  readonly right: number;
  /** The step in the operand that is added. Always 0 for terms. */
  readonly added: number;
  /** The step in the operand of the scales. */
  readonly scale: number;
}

/**
 * A condition that a term exists, as at the edges of a padded image: `low <= scale * coordinate +
 * digit of the term <= high`. The coordinate of result `i` is `floor(i / unit) % size`.
 */
export interface Window {
  /** The divisor of the result's number. */
  readonly unit: number;
  /** The number of values of the coordinate. */
  readonly size: number;
  /** The number of the term's dimension. */
  readonly term: number;
  /** The factor of the coordinate. */
  readonly scale: number;
  /** The least sum of an existing term. */
  readonly low: number;
  /** The largest sum of an existing term. */
  readonly high: number;
}

/**
 * A dispatch that stores sums of products. Result `i` is the sum over all terms `t` of
 * `coefficient * left[…] * right[…]`, and of `addedScale * added[…]` if there is such a buffer. One
 * factor may be an integer times a scale.
 */
export interface SumsOfProducts {
  /** The buffer of the results. They lie one after the other, from `first` on. */
  readonly output: Operand;
  /** The address of the first result. */
  readonly first: number;
  /** The number of results. */
  readonly count: number;
  /** The first factors. Only they may be missing at edges. */
  readonly left: Operand;
  /** The second factors. */
  readonly right: Operand;
  /** The numbers that are added, such as a bias, or the results before the dispatch. */
  readonly added?: Operand;
  /** The scales of the integers in one of the factors. */
  readonly scale?: Operand & { readonly scaled: "left" | "right" };
  /** The addresses of the first result's first term. */
  readonly start: Omit<Dimension, "size">;
  /** The dimensions of the results, fastest first. */
  readonly results: readonly Dimension[];
  /** The dimensions of the terms, fastest first. */
  readonly terms: readonly Dimension[];
  /** The conditions of terms. All terms exist if there are none. */
  readonly windows: readonly Window[];
  /** The factor of all products. */
  readonly coefficient: number;
  /** The factor of all numbers that are added. */
  readonly addedScale: number;
  /** The most roundings of one term on its way into the result. */
  readonly roundings: number;
  /** The largest factor, of at least 1, by which numbers in between are scaled up or down. */
  readonly scaling: number;
  /** The format in which the kernel adds up. */
  readonly precision: Precision;
}

/** The functions that generated code calls. */

import { type FloatFormat, f16Format, f32Format } from "./floatFormat.ts";
import * as integers from "./integers.ts";
import type { Bounds } from "./intervals.ts";
import type { FloatOperation } from "./nearest.ts";
import type { RaceDetector } from "./races.ts";
import { Undecided } from "./undecided.ts";

/**
 * Returns the operations on numbers of one format, by name. Those on intervals leave their results
 * in `r`.
 */
export type Arithmetic = (format: FloatFormat, r: Bounds) => Record<FloatOperation, unknown>;

/** Returns the functions for a kernel, by their names in the code. */
export function createLibrary(
  arithmetic: Arithmetic,
  races: RaceDetector | undefined,
): Record<string, unknown> {
  // The bounds of one number, or of the four of a texel.
  const r = new Float64Array(8);
  return {
    ...integers,
    ...named("f32", arithmetic(f32Format, r)),
    ...named("f16", arithmetic(f16Format, r)),
    f32_format: f32Format,
    f16_format: f16Format,
    r,
    races,
    exponentOf,
    outOfBounds: () => {
      throw new Undecided("an index is out of bounds");
    },
    outOfFuel: () => {
      throw new Undecided("too many iterations and calls");
    },
  };
}

function named(prefix: string, functions: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(functions).map(([name, each]) => [`${prefix}_${name}`, each]));
}

/** Returns the exponent that `frexp` gives for all numbers of an interval. */
function exponentOf(low: number, high: number): number {
  const [from, to] = [exponent(low), exponent(high)];
  if (from !== to) throw new Undecided("an exponent depends on rounding");
  return from;
}

function exponent(x: number): number {
  if (x === 0 || !Number.isFinite(x)) return x === 0 ? 0 : Number.NaN;
  let power = Math.floor(Math.log2(Math.abs(x))) + 1;
  // The logarithm may be rounded across a power of two.
  while (Math.abs(x) >= 2 ** power) power++;
  while (Math.abs(x) < 2 ** (power - 1)) power--;
  return power;
}

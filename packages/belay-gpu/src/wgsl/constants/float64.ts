/** Computes the parts of a double that no Math function returns exactly. */

const double = new Float64Array(1);
const bits = new BigUint64Array(double.buffer);

/** Returns the exponent `k` with `2**k <= |x| < 2**(k + 1)`, for a finite `x` other than zero. */
export function exponentOf(x: number): number {
  double[0] = x;
  const biased = Number((bits[0]! >> 52n) & 0x7ffn);
  return biased === 0 ? exponentOf(x * 2 ** 54) - 54 : biased - 1023;
}

/** Returns `x * 2**exponent` for an integer exponent, rounded once. */
export function scale(x: number, exponent: number): number {
  if (x === 0) return x;
  const from = exponentOf(x);
  // Powers of two are exact from 2**-1074 to 2**1023, so only the last product of each path rounds.
  const significand = from < -1022 ? x * 2 ** 54 * 2 ** (-from - 54) : x * 2 ** -from;
  const to = Math.max(-1100, from + exponent);
  return to < -1022 ? significand * 2 ** -52 * 2 ** (to + 52) : significand * 2 ** to;
}

/** Implements IEEE-754 binary16, for which Node.js 20 has no typed array. */
import { exponentOf, scale } from "./float64.ts";

/** The largest finite binary16 value. */
export const maxHalf = 65504;

/** Returns the binary16 value nearest to `x`, ties to even; infinite on overflow. */
export function roundToHalf(x: number): number {
  const magnitude = Math.abs(x);
  if (magnitude >= 65520) return x < 0 ? -Infinity : Infinity;
  if (magnitude === 0 || Number.isNaN(x)) return x;
  const unit = 2 ** (Math.max(exponentOf(magnitude), -14) - 10);
  // A double near 1.5 * 2**52 units has a last place of one unit, so the addition rounds.
  const shifter = 1.5 * 2 ** 52 * unit;
  const rounded = magnitude + shifter - shifter;
  return x < 0 ? -rounded : rounded;
}

/** Returns the 16 bits of a binary16 value. */
export function halfToBits(x: number): number {
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(x);
  if (Number.isNaN(x)) return 0x7e00;
  if (magnitude === Infinity) return sign | 0x7c00;
  if (magnitude < 2 ** -14) return sign | (magnitude * 2 ** 24);
  const exponent = exponentOf(magnitude);
  return sign | ((exponent + 15) << 10) | (scale(magnitude, 10 - exponent) - 1024);
}

/** Returns the binary16 value of 16 bits. */
export function halfFromBits(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

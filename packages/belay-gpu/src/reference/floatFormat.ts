/** The two formats of floating-point numbers in WGSL: f32 and f16. */
import { halfFromBits, halfToBits, roundToHalf } from "../wgsl/constants/float16.ts";

/** A binary floating-point format. */
export interface FloatFormat {
  readonly name: "f32" | "f16";
  /** The largest finite number. */
  readonly max: number;
  /** The smallest positive normal number. */
  readonly minNormal: number;
  /** Returns the nearest number of the format, ties to even; infinite on overflow. */
  round(x: number): number;
  /** Returns the next lower number of the format, for a number of the format. */
  below(x: number): number;
  /**
   * Returns the distance of the numbers of the format at `x`, which is finite. Around zero it is
   * the smallest normal number, as implementations may lack the numbers between.
   */
  ulp(x: number): number;
  /** Returns the bits of a number of the format. */
  toBits(x: number): number;
  /** Returns the number with these bits. */
  fromBits(bits: number): number;
}

const float = new Float32Array(1);
const bits = new Int32Array(float.buffer);
/** The distances of numbers, by their exponents' bits. */
const distances = Float64Array.from(
  { length: 256 },
  (_, exponent) => 2 ** (exponent === 0 ? -126 : exponent - 150),
);

export const f32Format: FloatFormat = {
  name: "f32",
  max: (2 - 2 ** -23) * 2 ** 127,
  minNormal: 2 ** -126,
  round: Math.fround,
  below(x) {
    if (x === 0) return -(2 ** -149);
    float[0] = x;
    bits[0]! += x > 0 ? -1 : 1;
    return float[0]!;
  },
  ulp(x) {
    float[0] = x;
    return distances[(bits[0]! >>> 23) & 0xff]!;
  },
  toBits(x) {
    float[0] = x;
    return bits[0]! >>> 0;
  },
  fromBits(pattern) {
    bits[0] = pattern;
    return float[0]!;
  },
};

export const f16Format: FloatFormat = {
  name: "f16",
  max: 65504,
  minNormal: 2 ** -14,
  round: roundToHalf,
  below(x) {
    if (x === 0) return -(2 ** -24);
    return halfFromBits(halfToBits(x) + (x > 0 ? -1 : 1));
  },
  ulp(x) {
    const exponent = f32Exponent(x);
    return 2 ** (exponent < -14 ? -14 : exponent - 10);
  },
  toBits: halfToBits,
  fromBits: halfFromBits,
};

/** Returns the exponent of a number that is normal in f32, or one below all of f16's. */
function f32Exponent(x: number): number {
  float[0] = x;
  return ((bits[0]! >>> 23) & 0xff) - 127;
}

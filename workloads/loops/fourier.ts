import type { Verdict } from "../program.ts";

export interface Complex {
  readonly re: Float64Array;
  readonly im: Float64Array;
}

/**
 * The reference for transforms: element k is the sum of x[n]·e^(2πi·n·k/N) over all n. In f64, recursively by even and odd
 * elements, each level into new arrays.
 */
export function fourier({ re, im }: Complex): Complex {
  const { length } = re;
  if (length === 1) return { re, im };
  const half = length / 2;
  const [even, odd] = [0, 1].map((first) =>
    fourier({
      re: Float64Array.from({ length: half }, (_, i) => re[2 * i + first]!),
      im: Float64Array.from({ length: half }, (_, i) => im[2 * i + first]!),
    }),
  ) as [Complex, Complex];
  const sum = { re: new Float64Array(length), im: new Float64Array(length) };
  for (let k = 0; k < half; k++) {
    const cosine = Math.cos((2 * Math.PI * k) / length);
    const sine = Math.sin((2 * Math.PI * k) / length);
    const turnedRe = odd.re[k]! * cosine - odd.im[k]! * sine;
    const turnedIm = odd.re[k]! * sine + odd.im[k]! * cosine;
    sum.re[k] = even.re[k]! + turnedRe;
    sum.im[k] = even.im[k]! + turnedIm;
    sum.re[k + half] = even.re[k]! - turnedRe;
    sum.im[k + half] = even.im[k]! - turnedIm;
  }
  return sum;
}

/** Number `i` of `2 ** bits`, its bits in reverse order. */
export function reversed(i: number, bits: number): number {
  let result = 0;
  for (let bit = 0; bit < bits; bit++) result |= ((i >> bit) & 1) << (bits - 1 - bit);
  return result;
}

/**
 * Compares transforms by the length of their difference, relative to that of the right one. A fast transform in f32 is off by at
 * most 7·u for each stage (Higham, "Accuracy and stability of numerical algorithms", theorem 24.2, with roots off by u), where u is
 * 2^-23, as WGSL leaves open which way an operation rounds.
 */
export function verifySpectrum(name: string, actual: Complex, expected: Complex): Verdict {
  let error = 0;
  let whole = 0;
  for (let k = 0; k < expected.re.length; k++) {
    error += (actual.re[k]! - expected.re[k]!) ** 2 + (actual.im[k]! - expected.im[k]!) ** 2;
    whole += expected.re[k]! ** 2 + expected.im[k]! ** 2;
  }
  const distance = Math.sqrt(error / whole);
  const tolerance = 7 * 2 ** -23 * Math.log2(expected.re.length);
  if (!(distance <= tolerance)) {
    return { ok: false, message: `the error of ${name} is ${distance} instead of at most ${tolerance}` };
  }
  return { ok: true, message: `${name} is within rounding` };
}

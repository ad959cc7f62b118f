import type { Verdict } from "../program.ts";

export interface Complex {
  readonly re: Float64Array;
  readonly im: Float64Array;
}

/**
 * Computes the reference for transforms: element k is the sum of x[n]·e^(2πi·n·k/N) over all n. It
 * computes in f64, recursively by even and odd elements, and leaves the input as it is.
 */
export function fourier({ re, im }: Complex): Complex {
  const { length } = re;
  const { re: cosines, im: sines } = rootsOfOne(length);
  const sums = { re: new Float64Array(length), im: new Float64Array(length) };

  /**
   * Transforms every `stride`th element from `first` on, into `size` places of the result from `at`
   * on.
   */
  const transform = (first: number, stride: number, at: number, size: number): void => {
    if (size === 1) {
      sums.re[at] = re[first]!;
      sums.im[at] = im[first]!;
      return;
    }
    const half = size / 2;
    transform(first, 2 * stride, at, half);
    transform(first + stride, 2 * stride, at + half, half);
    for (let k = at; k < at + half; k++) {
      const [cosine, sine] = [cosines[(k - at) * stride]!, sines[(k - at) * stride]!];
      const turnedRe = sums.re[k + half]! * cosine - sums.im[k + half]! * sine;
      const turnedIm = sums.re[k + half]! * sine + sums.im[k + half]! * cosine;
      sums.re[k + half] = sums.re[k]! - turnedRe;
      sums.im[k + half] = sums.im[k]! - turnedIm;
      sums.re[k]! += turnedRe;
      sums.im[k]! += turnedIm;
    }
  };
  transform(0, 1, 0, length);
  return sums;
}

const knownRoots = new Map<number, Complex>();

/** Returns the first half of the roots of one, e^(2πi·k/length). */
function rootsOfOne(length: number): Complex {
  const known = knownRoots.get(length);
  if (known) return known;
  const angles = Float64Array.from({ length: length / 2 }, (_, k) => (2 * Math.PI * k) / length);
  const roots = { re: angles.map(Math.cos), im: angles.map(Math.sin) };
  knownRoots.set(length, roots);
  return roots;
}

/** Returns the number whose `bits` bits are those of `i` in reverse order. */
export function reversed(i: number, bits: number): number {
  let result = 0;
  for (let bit = 0; bit < bits; bit++) result |= ((i >> bit) & 1) << (bits - 1 - bit);
  return result;
}

/**
 * Compares transforms by the length of their difference, relative to that of the expected one. A
 * fast transform in f32 is off by at most 7·u for each stage, if its roots are off by u. Here u is
 * 2^-23, as WGSL leaves open in which direction an operation rounds.
 *
 * Source: Higham, "Accuracy and stability of numerical algorithms", theorem 24.2.
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

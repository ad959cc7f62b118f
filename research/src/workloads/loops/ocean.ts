/**
 * OCEAN of the Perfect Club: a Fourier transform of all rows or of all columns of a matrix in
 * place, by its subroutine FTRVMT.
 *
 * Documented (Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014; the program's public
 * source): a matrix of 129 x 64 complex numbers. The strides of its radix-two butterflies are
 * variables, so that no compiler tells their elements apart. Dependences exist between stages only.
 * Its callers RCS and ACAC transform rows (64 points at a distance of 129) and columns (64 points
 * side by side).
 *
 * Inferred: the speculated loop goes over the butterflies of all stages, and the result stays in
 * bit-reversed order.
 */
import { randomFloats } from "../random.ts";
import { type Complex, fourier, reversed, verifySpectrum } from "./fourier.ts";
import { kept, type LoopProgram, wrong } from "./loopProgram.ts";

/** Transforms the rows or columns. Complex numbers are pairs; `roots` holds e^(2πi·k/points). */
export async function ocean(
  data: Float32Array,
  roots: Float32Array,
  points: number,
  pointStride: number,
  transforms: number,
  transformStride: number,
) {
  "use speculate";
  const half = points >> 1;
  const butterflies = half * transforms;
  const iterations = Math.log2(points) * butterflies;
  //#pragma omp for target(webgpu) speculate(data) precision(f32)
  for (let i = 0; i < iterations; i++) {
    const stage = (i / butterflies) | 0;
    const butterfly = ((i % butterflies) / transforms) | 0;
    const transform = (i % transforms) | 0;
    const span = half >> stage;
    const turn = butterfly & (span - 1);
    const point = butterfly + (butterfly & -span);
    const low = (Math.imul(point, pointStride) + Math.imul(transform, transformStride)) << 1;
    const high = (low + (Math.imul(span, pointStride) << 1)) | 0;
    const root = (2 * turn) << stage;

    const cosine = roots[root]!;
    const sine = roots[root + 1]!;
    const lowRe = data[low]!;
    const lowIm = data[low + 1]!;
    const highRe = data[high]!;
    const highIm = data[high + 1]!;
    const re = lowRe - highRe;
    const im = lowIm - highIm;
    data[low] = lowRe + highRe;
    data[low + 1] = lowIm + highIm;
    data[high] = re * cosine - im * sine;
    data[high + 1] = re * sine + im * cosine;
  }
}

export interface OceanOptions {
  /** The caller of FTRVMT whose strides the program uses. */
  readonly caller?: "RCS" | "ACAC";
  /** The number of points, a power of two. The matrix has `2 * points + 1` rows. */
  readonly points?: number;
}

export function create(options: OceanOptions = {}): LoopProgram<Parameters<typeof ocean>> {
  const { caller = "RCS", points = 64 } = options;
  const rows = 2 * points + 1;
  const strides = caller === "RCS" ? ([rows, rows, 1] as const) : ([1, points, rows] as const);
  const [pointStride, transforms, transformStride] = strides;
  const roots = Float32Array.from({ length: 2 * points }, (_, i) => {
    const angle = (2 * Math.PI * (i >> 1)) / points;
    return i % 2 === 0 ? Math.cos(angle) : Math.sin(angle);
  });
  const initial = () => randomFloats(2 * rows * points, 1);
  const bits = Math.log2(points);
  const inOrder = Uint32Array.from({ length: points }, (_, k) => k);
  const bitReversed = inOrder.map((k) => reversed(k, bits));
  const placeOf = (point: number, transform: number) =>
    2 * (point * pointStride + transform * transformStride);
  /** Returns the points of one transform in the given order. */
  const pick = (data: Float32Array, transform: number, order: Uint32Array): Complex => {
    const [re, im] = [new Float64Array(points), new Float64Array(points)];
    for (let k = 0; k < points; k++) {
      const place = placeOf(order[k]!, transform);
      re[k] = data[place]!;
      im[k] = data[place + 1]!;
    }
    return { re, im };
  };
  const reference = kept(() => {
    const before = initial();
    const isUntouched = new Uint8Array(before.length).fill(1);
    for (let transform = 0; transform < transforms; transform++) {
      for (let point = 0; point < points; point++) {
        const place = placeOf(point, transform);
        isUntouched[place] = isUntouched[place + 1] = 0;
      }
    }
    const spectra = Array.from({ length: transforms }, (_, each) => fourier(pick(before, each, inOrder)));
    return { before, isUntouched, spectra };
  });

  return {
    iterations: bits * (points / 2) * transforms,
    inputs: () => [initial(), roots.slice(), points, pointStride, transforms, transformStride],
    verify([data]) {
      const { before, isUntouched, spectra } = reference();
      for (const [transform, expected] of spectra.entries()) {
        const verdict = verifySpectrum(
          `transform ${transform}`,
          pick(data, transform, bitReversed),
          expected,
        );
        if (!verdict.ok) return verdict;
      }
      for (let i = 0; i < before.length; i++) {
        if (isUntouched[i] && data[i] !== before[i]) return wrong(`data[${i}]`, data[i], before[i]!);
      }
      return { ok: true, message: `${transforms} transforms of ${points} points are within rounding` };
    },
  };
}

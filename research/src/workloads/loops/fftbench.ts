/**
 * FFTbench: a Fourier transform of 2^20 complex numbers in place.
 *
 * Documented (Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014): loops that reverse the
 * order of bits and that compute butterflies, at computed places. Inferred: one loop goes over the
 * butterflies of all stages, which depend on each other only from stage to stage. Inferred too:
 * real and imaginary parts have arrays of their own.
 */
import { randomFloats } from "../random.ts";
import { fourier, verifySpectrum } from "./fourier.ts";
import { kept, type LoopProgram } from "./loopProgram.ts";

/**
 * Transforms `2 ** bits` numbers. `cosines` and `sines` hold the first half of the roots of one.
 */
export async function fftbench(
  re: Float32Array,
  im: Float32Array,
  cosines: Float32Array,
  sines: Float32Array,
  bits: number,
) {
  "use speculate";
  const length = 1 << bits;
  //#pragma omp for target(webgpu) speculate(re, im) precision(f32)
  for (let i = 0; i < length; i++) {
    let reversed = 0;
    for (let bit = 0; bit < bits; bit++) reversed = (reversed << 1) | ((i >> bit) & 1);
    if (i < reversed) {
      const ownRe = re[i]!;
      const ownIm = im[i]!;
      re[i] = re[reversed]!;
      im[i] = im[reversed]!;
      re[reversed] = ownRe;
      im[reversed] = ownIm;
    }
  }

  const half = length >> 1;
  const iterations = bits * half;
  //#pragma omp for target(webgpu) speculate(re, im) precision(f32)
  for (let i = 0; i < iterations; i++) {
    const stage = (i / half) | 0;
    const butterfly = i & (half - 1);
    const span = 1 << stage;
    const turn = butterfly & (span - 1);
    const low = (butterfly + (butterfly & -span)) | 0;
    const high = (low + span) | 0;
    const root = turn << (bits - 1 - stage);

    const lowRe = re[low]!;
    const lowIm = im[low]!;
    const highRe = re[high]!;
    const highIm = im[high]!;
    const turnedRe = highRe * cosines[root]! - highIm * sines[root]!;
    const turnedIm = highRe * sines[root]! + highIm * cosines[root]!;
    re[high] = lowRe - turnedRe;
    im[high] = lowIm - turnedIm;
    re[low] = lowRe + turnedRe;
    im[low] = lowIm + turnedIm;
  }
}

export interface FftbenchOptions {
  readonly bits?: number;
}

export function create({ bits = 20 }: FftbenchOptions = {}): LoopProgram<Parameters<typeof fftbench>> {
  const length = 2 ** bits;
  const initial = () => [randomFloats(length, 1), randomFloats(length, 2)] as const;
  const root = (part: (angle: number) => number) =>
    Float32Array.from({ length: length / 2 }, (_, k) => part((2 * Math.PI * k) / length));
  const reference = kept(() => {
    const [re, im] = initial();
    return fourier({ re: new Float64Array(re), im: new Float64Array(im) });
  });
  return {
    iterations: length + bits * (length / 2),
    inputs: () => [...initial(), root(Math.cos), root(Math.sin), bits],
    verify([re, im]) {
      const actual = { re: new Float64Array(re), im: new Float64Array(im) };
      return verifySpectrum(`the transform of ${length} numbers`, actual, reference());
    },
  };
}

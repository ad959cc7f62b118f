import { bindBuffers, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Complex, fourier } from "../loops/fourier.ts";
import { type Prepared, runOnce, type Verdict, type VerifiableProgram } from "../program.ts";
import { randomFloats } from "../random.ts";
import {
  rootsFor,
  type Side,
  transformAcross,
  transformAlongX,
  workgroupsAcross,
  workgroupsAlongX,
} from "./fft3dKernels.ts";

type Sides = readonly [x: Side, y: Side | 1, z: Side | 1];

export interface Fft3dOptions {
  /** The lengths of the dimensions; x varies fastest. Default 16, 16, 16. */
  readonly sides?: Sides;
}

/**
 * Creates the three-dimensional Fourier transform of f32 complex numbers. Each dimension takes one
 * pass, which reads and writes all numbers.
 */
export function create({ sides = [16, 16, 16] }: Fft3dOptions = {}): VerifiableProgram<{
  spectrum: Float32Array;
}> {
  const [x, y, z] = sides;
  const numbers = x * y * z;
  const signal = randomFloats(2 * numbers, 1);
  const across = (side: Side | 1, stride: number) => {
    if (side === 1) return [];
    const workgroups = workgroupsAcross(side, numbers);
    return [{ code: transformAcross(side, stride), roots: rootsFor(side, "across"), workgroups }];
  };
  const passes = [
    { code: transformAlongX(x), roots: rootsFor(x, "alongX"), workgroups: workgroupsAlongX(x, numbers) },
    ...across(y, x / 2),
    ...across(z, (x * y) / 2),
  ];

  const prepare = (device: GPUDevice): Prepared<{ spectrum: Float32Array }> => {
    const input = uploadBuffer(device, signal);
    const [first, second] = [resultBuffer(device, 8 * numbers), resultBuffer(device, 8 * numbers)];
    const places = [input, first, second, first];
    const last = places[passes.length]!;
    const steps = passes.map(({ code, roots, workgroups }, i) => {
      const module = device.createShaderModule({ code });
      const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
      const table = uploadBuffer(device, roots);
      const bindings = bindBuffers(device, pipeline, table, places[i]!, places[i + 1]!);
      return { pipeline, table, bindings, workgroups };
    });
    return {
      encode(encoder) {
        const pass = encoder.beginComputePass();
        for (const { pipeline, bindings, workgroups } of steps) {
          pass.setPipeline(pipeline);
          pass.setBindGroup(0, bindings);
          pass.dispatchWorkgroups(workgroups);
        }
        pass.end();
      },
      read: async () => ({ spectrum: new Float32Array(await readBuffers(device, last)) }),
      destroy() {
        for (const buffer of [input, first, second, ...steps.map(({ table }) => table)]) buffer.destroy();
      },
    };
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ spectrum }) => verifySpectrum(spectrum, spectrumOf(signal, sides)),
    kernelSources: Object.fromEntries(passes.map(({ code }, i) => [`pass${i}`, code])),
    work: { bytes: passes.length * 16 * numbers, flops: 5 * numbers * Math.log2(numbers) },
  };
}

export default (device: GPUDevice) => create().workload(device);

/**
 * Computes the transform in f64, line after line. `fourier` has the opposite sign in its exponents,
 * so real and imaginary parts change places.
 */
function spectrumOf(signal: Float32Array, [x, y, z]: Sides): Float64Array {
  const spectrum = Float64Array.from(signal);
  for (const [side, stride] of [
    [x, 1],
    [y, x],
    [z, x * y],
  ] as const) {
    const line: Complex = { re: new Float64Array(side), im: new Float64Array(side) };
    for (let start = 0; start < x * y * z; start++) {
      if (Math.floor(start / stride) % side !== 0) continue;
      for (let i = 0; i < side; i++) {
        line.re[i] = spectrum[2 * (start + i * stride) + 1]!;
        line.im[i] = spectrum[2 * (start + i * stride)]!;
      }
      const { re, im } = fourier(line);
      for (let i = 0; i < side; i++) {
        spectrum[2 * (start + i * stride)] = im[i]!;
        spectrum[2 * (start + i * stride) + 1] = re[i]!;
      }
    }
  }
  return spectrum;
}

/**
 * Compares each number with the expected one. Errors are proportional to the length of the whole:
 * on average at most 7·u for each stage, with u = 2^-23.
 *
 * Source: Higham, "Accuracy and stability of numerical algorithms", theorem 24.2.
 */
function verifySpectrum(actual: Float32Array, expected: Float64Array): Verdict {
  let squares = 0;
  for (const part of expected) squares += part * part;
  const tolerance = 7 * 2 ** -23 * Math.log2(expected.length / 2) * Math.sqrt(squares / expected.length);
  for (let i = 0; i < expected.length; i++) {
    if (!(Math.abs(actual[i]! - expected[i]!) <= tolerance)) {
      return { ok: false, message: `spectrum[${i}] is ${actual[i]} instead of ${expected[i]}` };
    }
  }
  return { ok: true, message: `all ${expected.length / 2} numbers of the spectrum are within rounding` };
}

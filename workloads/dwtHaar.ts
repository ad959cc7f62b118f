/**
 * The Haar wavelet decomposition of a signal, down to a single average: sums and differences of neighbours, then the same
 * for the sums.
 *
 * Source: the sample DwtHaar1D of the AMD APP SDK, as used by Wadden et al. 2014: a workgroup decomposes its part of the signal
 * in workgroup memory, and what remains goes through the same kernel again. Chosen here: four pairs for each invocation and
 * ten levels instead of nine, orthonormal coefficients at every level, and no scaling of the signal beforehand.
 */
import { bindBuffers, gridOf, readBuffers, resultBuffer, uploadBuffer } from "./buffers.ts";
import { type Prepared, type Program, runOnce, type Verdict } from "./program.ts";
import { randomFloats } from "./random.ts";

const WORKGROUP = 128;
/** How many samples a workgroup decomposes. */
const BLOCK = 1024;
const BLOCK_LEVELS = Math.log2(BLOCK);

/** The details of a level stand at `pairs` and up, where `pairs` is their number; the last average is at zero. */
const DECOMPOSE = /* wgsl */ `
struct Extent {
  samples: u32,
  levels: u32,
}

const WORKGROUP = ${WORKGROUP}u;
const BLOCK = ${BLOCK}u;
/**
 * Half of a first level, or of a second, and half of the banks: even and odd averages written by neighbours do not meet in
 * a bank.
 */
const FIRST = BLOCK / 4u + 16u;
const SECOND = BLOCK / 8u + 16u;

@group(0) @binding(0) var<uniform> extent: Extent;
@group(0) @binding(1) var<storage, read> signal: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> details: array<f32>;
@group(0) @binding(3) var<storage, read_write> averages: array<f32>;

/**
 * The averages of one level, and behind them those of the next: the even ones, then the odd ones, so that the pairs of 32
 * invocations are read without conflict.
 */
var<workgroup> kept: array<f32, 2u * (FIRST + SECOND)>;

fn evens(level: u32) -> u32 {
  return select(2u * FIRST, 0u, level % 2u == 1u);
}

fn odds(level: u32) -> u32 {
  return select(2u * FIRST + SECOND, FIRST, level % 2u == 1u);
}

fn split(pair: vec2f) -> vec2f {
  return vec2f(pair.x + pair.y, pair.x - pair.y) * ${Math.SQRT1_2};
}

fn place(level: u32, average: u32) -> u32 {
  return average / 2u + select(evens(level), odds(level), average % 2u == 1u);
}

@compute @workgroup_size(WORKGROUP)
fn decompose(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let group = id.y * groups.x + id.x;

  for (var i = local; i < BLOCK / 2u; i += WORKGROUP) {
    let pair = group * (BLOCK / 2u) + i;
    if (pair < extent.samples / 2u) {
      let both = split(signal[pair]);
      details[extent.samples / 2u + pair] = both.y;
      kept[place(1u, i)] = both.x;
    }
  }
  workgroupBarrier();

  for (var level = 2u; level <= extent.levels; level++) {
    let pairs = extent.samples >> level;
    let width = BLOCK >> level;
    for (var i = local; i < width; i += WORKGROUP) {
      let pair = group * width + i;
      if (pair < pairs) {
        let both = split(vec2f(kept[evens(level - 1u) + i], kept[odds(level - 1u) + i]));
        details[pairs + pair] = both.y;
        kept[place(level, i)] = both.x;
      }
    }
    workgroupBarrier();
  }

  let width = BLOCK >> extent.levels;
  for (var i = local; i < width; i += WORKGROUP) {
    let average = group * width + i;
    if (average < (extent.samples >> extent.levels)) { averages[average] = kept[place(extent.levels, i)]; }
  }
}`;

export interface DwtHaarOptions {
  /** A power of two, two at least. */
  readonly length?: number;
  readonly seed?: number;
}

/** All coefficients: the average, then the details of each level, the coarsest first. */
export function create(options: DwtHaarOptions = {}): Program<{ coefficients: Float32Array }> {
  const { length = 2 ** 12, seed = 1 } = options;
  const signal = randomFloats(length, seed);
  const dispatches = extents(length);

  const prepare = (device: GPUDevice): Prepared<{ coefficients: Float32Array }> => {
    const module = device.createShaderModule({ code: DECOMPOSE });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const coefficients = resultBuffer(device, length * 4);
    const signals = [uploadBuffer(device, signal)];
    const uniforms: GPUBuffer[] = [];
    const bindings = dispatches.map(({ samples, levels }, i) => {
      signals.push(resultBuffer(device, (samples >> levels) * 4));
      uniforms.push(uploadBuffer(device, Uint32Array.of(samples, levels), GPUBufferUsage.UNIFORM));
      return bindBuffers(device, pipeline, uniforms[i]!, signals[i]!, coefficients, signals[i + 1]!);
    });
    return {
      encode(encoder) {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        dispatches.forEach(({ samples }, i) => {
          pass.setBindGroup(0, bindings[i]!);
          pass.dispatchWorkgroups(...gridOf(Math.ceil(samples / BLOCK)));
        });
        pass.end();
        encoder.copyBufferToBuffer(signals.at(-1)!, 0, coefficients, 0, 4);
      },
      read: async () => ({ coefficients: new Float32Array(await readBuffers(device, coefficients)) }),
      destroy() {
        for (const buffer of [...signals, ...uniforms, coefficients]) buffer.destroy();
      },
    };
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ coefficients }) => verifyCoefficients(signal, coefficients),
    kernelSources: { decompose: DECOMPOSE },
    work: {
      // Every dispatch reads its signal and writes as many details and averages.
      bytes: dispatches.reduce((sum, { samples }) => sum + 8 * samples, 0),
      // Two results of each pair: a sum or a difference, and a product.
      flops: 4 * (length - 1),
    },
  };
}

export default (device: GPUDevice) => create().workload(device);

function extents(length: number): { samples: number; levels: number }[] {
  const dispatches = [];
  for (let samples = length; samples > 1; ) {
    const levels = Math.min(Math.log2(samples), BLOCK_LEVELS);
    dispatches.push({ samples, levels });
    samples >>= levels;
  }
  return dispatches;
}

/**
 * Compares with f64. A level makes the error of an average at most √2 times as large, and adds three roundings (of the sum,
 * of the constant and of the product) of a value that is at most √2 times the largest average of the level before.
 */
function verifyCoefficients(signal: Float32Array, coefficients: Float32Array): Verdict {
  let averages = Float64Array.from(signal);
  let tolerance = 0;
  for (let pairs = signal.length / 2; pairs >= 1; pairs /= 2) {
    let largest = 0;
    for (const average of averages) largest = Math.max(largest, Math.abs(average));
    tolerance = Math.SQRT2 * (tolerance + 3 * 2 ** -24 * 1.001 * largest);
    for (let i = 0; i < pairs; i++) {
      const [even, odd] = [averages[2 * i]!, averages[2 * i + 1]!];
      const expected = (even - odd) * Math.SQRT1_2;
      const actual = coefficients[pairs + i]!;
      if (!(Math.abs(actual - expected) <= tolerance)) return wrong(pairs + i, actual, expected);
      averages[i] = (even + odd) * Math.SQRT1_2;
    }
    averages = averages.subarray(0, pairs);
  }
  const [average] = averages;
  if (!(Math.abs(coefficients[0]! - average!) <= tolerance)) return wrong(0, coefficients[0]!, average!);
  return { ok: true, message: `all ${signal.length} coefficients are within rounding` };
}

const wrong = (index: number, actual: number, expected: number): Verdict => ({
  ok: false,
  message: `coefficients[${index}] is ${actual} instead of ${expected}`,
});

/**
 * The Haar wavelet decomposition of a signal, down to a single average: sums and differences of
 * neighbors, then the same for the sums.
 *
 * Source: the sample DwtHaar1D of the AMD APP SDK, as used by Wadden et al. 2014. A workgroup
 * decomposes its part of the signal by at most nine levels in workgroup memory. The rest goes
 * through the same kernel again.
 *
 * Chosen here: eight pairs for each invocation, orthonormal coefficients at every level, and no
 * scaling of the signal beforehand.
 */
import { bindBuffers, gridOf, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, runOnce, type Verdict, type VerifiableProgram } from "../program.ts";
import { randomFloats } from "../random.ts";

const WORKGROUP = 64;
/**
 * The vectors of samples that an invocation loads. All loads begin before it waits for the first.
 */
const VECTORS = [0, 1, 2, 3];
/**
 * The number of samples that a workgroup decomposes; below, the number of levels. Two averages are
 * left.
 */
const BLOCK = 4 * VECTORS.length * WORKGROUP;
const BLOCK_LEVELS = Math.log2(BLOCK) - 1;

/**
 * The kernel. The details of a level stand at `pairs` and up, where `pairs` is their number; the
 * last average is at zero.
 */
const DECOMPOSE = /* wgsl */ `
struct Extent {
  samples: u32,
  levels: u32,
}

/** Of two neighboring pairs. */
struct Split {
  averages: vec2f,
  details: vec2f,
}

const WORKGROUP = ${WORKGROUP}u;
const BLOCK = ${BLOCK}u;

@group(0) @binding(0) var<uniform> extent: Extent;
@group(0) @binding(1) var<storage, read> signal: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> coefficients: array<vec2f>;
@group(0) @binding(3) var<storage, read_write> averages: array<vec2f>;

/**
 * The averages of a level, as the pairs of the next one: those of levels with odd numbers first.
 */
var<workgroup> kept: array<vec2f, BLOCK / 4u + BLOCK / 8u>;

fn startOf(level: u32) -> u32 {
  return select(BLOCK / 4u, 0u, level % 2u == 1u);
}

fn load(index: u32) -> vec4f {
  if (4u * index < extent.samples) { return signal[index]; }
  return vec4f();
}

fn split(left: vec2f, right: vec2f) -> Split {
  let even = vec2f(left.x, right.x);
  let odd = vec2f(left.y, right.y);
  return Split((even + odd) * ${Math.SQRT1_2}, (even - odd) * ${Math.SQRT1_2});
}

/**
 * Stores the details of a level's pairs number 2 * index and the next. The last level has one pair,
 * and the average.
 */
fn store(pairs: u32, index: u32, both: Split) {
  if (pairs == 1u) {
    if (index == 0u) { coefficients[0] = vec2f(both.averages.x, both.details.x); }
  } else if (2u * index < pairs) {
    coefficients[pairs / 2u + index] = both.details;
  }
}

@compute @workgroup_size(WORKGROUP)
fn decompose(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let group = id.y * groups.x + id.x;

  let first = group * (BLOCK / 4u) + local;
  ${VECTORS.map((n) => `let samples${n} = load(first + ${n}u * WORKGROUP);`).join("\n  ")}
  ${VECTORS.map(
    (n) => `let both${n} = split(samples${n}.xy, samples${n}.zw);
  store(extent.samples / 2u, first + ${n}u * WORKGROUP, both${n});
  kept[local + ${n}u * WORKGROUP] = both${n}.averages;`,
  ).join("\n  ")}
  workgroupBarrier();

  for (var level = 2u; level <= extent.levels; level++) {
    let width = BLOCK >> (level + 1u);
    let above = startOf(level - 1u);
    for (var i = local; i < width; i += WORKGROUP) {
      let both = split(kept[above + 2u * i], kept[above + 2u * i + 1u]);
      let index = group * width + i;
      store(extent.samples >> level, index, both);
      kept[startOf(level) + i] = both.averages;
      if (level == extent.levels && index < arrayLength(&averages)) { averages[index] = both.averages; }
    }
    workgroupBarrier();
  }
}`;

export interface DwtHaarOptions {
  /** The number of samples, a power of two and at least two. */
  readonly length?: number;
  readonly seed?: number;
}

/**
 * Creates the decomposition. Its coefficients are the average, then the details of each level, the
 * coarsest first.
 */
export function create(options: DwtHaarOptions = {}): VerifiableProgram<{ coefficients: Float32Array }> {
  const { length = 2 ** 12, seed = 1 } = options;
  const signal = randomFloats(length, seed);
  const dispatches = extents(length);

  const prepare = (device: GPUDevice): Prepared<{ coefficients: Float32Array }> => {
    const module = device.createShaderModule({ code: DECOMPOSE });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const coefficients = resultBuffer(device, length * 4);
    // The buffers hold whole vectors; contents beyond the end do not matter.
    const signals = [resultBuffer(device, Math.max(16, length * 4))];
    device.queue.writeBuffer(signals[0]!, 0, signal);
    const uniforms: GPUBuffer[] = [];
    const bindings = dispatches.map(({ samples, levels }, i) => {
      signals.push(resultBuffer(device, Math.max(16, (samples >> levels) * 4)));
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
 * Compares with f64. A level multiplies the error of an average by at most √2. It adds three
 * roundings (of the sum, of the constant and of the product) of a value. This value is at most √2
 * times the largest average of the level before.
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

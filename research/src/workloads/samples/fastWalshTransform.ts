/**
 * The Walsh–Hadamard transform of a signal in place. Coefficient `k` is the sum of all samples,
 * with the sign of sample `i` changed if `i & k` has an odd number of bits.
 *
 * Source: the sample FastWalshTransform of the AMD APP SDK, as used by Wadden et al. 2014.
 * Butterflies work in place, a dispatch for all samples at a time, without workgroup memory.
 *
 * Chosen here: two stages for each load of the samples, and four samples at a time, as vectors.
 * Samples are small whole numbers.
 */
import { gridOf, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, runOnce, type Verdict, type VerifiableProgram } from "../program.ts";
import { randomFloats, randomIntegers, sampleIndices } from "../random.ts";
import { createSteps } from "./steps.ts";

const WORKGROUP = 128;

const TRANSFORM = /* wgsl */ `
@group(0) @binding(0) var<uniform> span: u32; // between the two inputs of a butterfly
@group(0) @binding(1) var<storage, read_write> samples: array<vec4f>;

fn numberOf(id: vec3u, groups: vec3u, local: u32) -> u32 {
  return (id.y * groups.x + id.x) * ${WORKGROUP}u + local;
}

/** The first two stages, whose butterflies lie inside of vectors. */
@compute @workgroup_size(${WORKGROUP})
fn within(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let i = numberOf(id, groups, local);
  if (i >= arrayLength(&samples)) { return; }
  let v = samples[i];
  let sums = v.xz + v.yw;
  let differences = v.xz - v.yw;
  samples[i] = vec4f(sums.x + sums.y, differences.x + differences.y, sums.x - sums.y, differences.x - differences.y);
}

/** A stage whose butterflies join vectors. */
@compute @workgroup_size(${WORKGROUP})
fn between(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let i = numberOf(id, groups, local);
  if (i >= arrayLength(&samples) / 2u) { return; }
  let distance = span / 4u;
  let first = 2u * i - (i & (distance - 1u));
  let low = samples[first];
  let high = samples[first + distance];
  samples[first] = low + high;
  samples[first + distance] = low - high;
}

/** Such a stage, and the one with twice its span. */
@compute @workgroup_size(${WORKGROUP})
fn betweenTwice(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let i = numberOf(id, groups, local);
  if (i >= arrayLength(&samples) / 4u) { return; }
  let distance = span / 4u;
  let inside = i & (distance - 1u);
  let at = 4u * (i - inside) + inside + distance * vec4u(0u, 1u, 2u, 3u);
  let a = samples[at.x];
  let b = samples[at.y];
  let c = samples[at.z];
  let d = samples[at.w];
  samples[at.x] = (a + b) + (c + d);
  samples[at.y] = (a - b) + (c - d);
  samples[at.z] = (a + b) - (c + d);
  samples[at.w] = (a - b) - (c - d);
}`;

type EntryPoint = "within" | "between" | "betweenTwice";

/** The number of samples that an invocation transforms. */
const SAMPLES: Readonly<Record<EntryPoint, number>> = { within: 4, between: 8, betweenTwice: 16 };

const MAGNITUDE = 8;
/**
 * The number of additions that the definition may take. It is the reference for as many
 * coefficients as that allows.
 */
const REFERENCE_ADDITIONS = 2 ** 27;

export interface FastWalshTransformOptions {
  /** The number of samples, a power of two and at least four. */
  readonly length?: number;
  readonly seed?: number;
}

/**
 * Creates a program that computes a signal's coefficients exactly. A partial sum of n samples is
 * always below 2^24 up to n = 2^21. Beyond that it fails with the negligible probability of
 * 2·exp(-2^48 / (128 n)).
 */
export function create(
  options: FastWalshTransformOptions = {},
): VerifiableProgram<{ coefficients: Float32Array }> {
  const { length = 2 ** 12, seed = 1 } = options;
  const signal = randomIntegers(length, MAGNITUDE, seed);
  const passes = transformingPasses(length);

  const prepare = (device: GPUDevice): Prepared<{ coefficients: Float32Array }> => {
    const input = uploadBuffer(device, signal, GPUBufferUsage.COPY_SRC);
    const samples = resultBuffer(device, length * 4);
    const steps = createSteps(
      device,
      passes.map(({ span }) => [span]),
      samples,
    );
    const module = device.createShaderModule({ code: TRANSFORM });
    const pipelines = new Map<EntryPoint, GPUComputePipeline>();
    for (const { entryPoint } of passes) {
      if (pipelines.has(entryPoint)) continue;
      const compute = { module, entryPoint };
      pipelines.set(entryPoint, device.createComputePipeline({ layout: steps.layout, compute }));
    }
    const reset = () => {
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(input, 0, samples, 0, length * 4);
      device.queue.submit([encoder.finish()]);
    };
    reset();

    return {
      encode(encoder) {
        const pass = encoder.beginComputePass();
        passes.forEach(({ entryPoint }, i) => {
          pass.setPipeline(pipelines.get(entryPoint)!);
          steps.set(pass, i);
          pass.dispatchWorkgroups(...gridOf(Math.ceil(length / SAMPLES[entryPoint] / WORKGROUP)));
        });
        pass.end();
      },
      reset,
      read: async () => ({ coefficients: new Float32Array(await readBuffers(device, samples)) }),
      destroy() {
        for (const resource of [steps, input, samples]) resource.destroy();
      },
    };
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ coefficients }) => verifyCoefficients(signal, coefficients, seed + 1),
    kernelSources: { transform: TRANSFORM },
    work: { bytes: passes.length * 8 * length, flops: Math.log2(length) * length },
  };
}

export default (device: GPUDevice) => create().workload(device);

function transformingPasses(length: number): { entryPoint: EntryPoint; span: number }[] {
  const passes: { entryPoint: EntryPoint; span: number }[] = [{ entryPoint: "within", span: 1 }];
  let span = 4;
  for (; 2 * span < length; span *= 4) passes.push({ entryPoint: "betweenTwice", span });
  if (span < length) passes.push({ entryPoint: "between", span });
  return passes;
}

/**
 * Verifies some coefficients by definition, as many as are quick, then all of them by a weighted
 * sum. Their weights are products of one random factor for each bit of their number.
 *
 * With such weights the sum over coefficients equals one over samples. The transform of a product
 * is the product of the transforms of two: those of (1, f) are (1 + f, 1 - f). A factor is so close
 * to ±1 that every weight is at least 1/e, and one wrong coefficient changes the sum by that much.
 */
function verifyCoefficients(signal: Float32Array, coefficients: Float32Array, seed: number): Verdict {
  const { length } = signal;
  for (const k of sampleIndices(length, Math.ceil(REFERENCE_ADDITIONS / length), seed)) {
    let expected = 0;
    for (let i = 0; i < length; i++) expected += isOdd(i & k) ? -signal[i]! : signal[i]!;
    if (coefficients[k] !== expected) {
      return { ok: false, message: `coefficients[${k}] is ${coefficients[k]} instead of ${expected}` };
    }
  }
  const bits = Math.log2(length);
  const factors = [...randomFloats(bits, seed)].map((f) => (f < 0 ? -1 : 1) - f / (bits + 1));
  const actual = weightedSum(
    coefficients,
    factors.map((f) => [1, f]),
  );
  const expected = weightedSum(
    signal,
    factors.map((f) => [1 + f, 1 - f]),
  );
  // Sums in f64 are off by less than 2^-6: each of 2·26 roundings by 2^-53 of a sum of magnitudes
  // below 2^41.
  if (!(Math.abs(actual - expected) < 1 / 8)) {
    return { ok: false, message: `the weighted sum of coefficients is ${actual} instead of ${expected}` };
  }
  return { ok: true, message: `all ${length} coefficients are exact` };
}

function isOdd(bits: number): boolean {
  let parity = bits;
  for (let half = 16; half >= 1; half >>= 1) parity ^= parity >>> half;
  return (parity & 1) === 1;
}

/**
 * Returns the sum of values. Each is weighted by the product of one weight of a pair for each bit
 * of its index.
 */
function weightedSum(values: Float32Array, weights: readonly (readonly number[])[]): number {
  let sums: Float32Array | Float64Array = values;
  for (const [even, odd] of weights) {
    const halved: Float64Array = new Float64Array(sums.length / 2);
    for (let i = 0; i < halved.length; i++) halved[i] = even! * sums[2 * i]! + odd! * sums[2 * i + 1]!;
    sums = halved;
  }
  return sums[0]!;
}

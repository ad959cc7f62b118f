import { bindBuffers, gridOf, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, runOnce, type VerifiableProgram, verifyExact } from "../program.ts";
import { randomWords } from "../random.ts";

const BINS = 256;
const WORKGROUP = 128;
/** The number of vectors, of sixteen samples each, that an invocation counts. */
const SERIAL = 16;

/**
 * The kernel: each workgroup counts its samples in its own memory, then adds its bins to the common
 * ones.
 */
const COUNT = /* wgsl */ `
const BINS = ${BINS}u;
const WORKGROUP = ${WORKGROUP}u;
const SERIAL = ${SERIAL}u;

@group(0) @binding(0) var<uniform> sampleCount: u32;
@group(0) @binding(1) var<storage, read> samples: array<vec4u>; // sixteen bytes each
@group(0) @binding(2) var<storage, read_write> bins: array<atomic<u32>, BINS>;

var<workgroup> counted: array<atomic<u32>, BINS>;

@compute @workgroup_size(WORKGROUP)
fn count(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let group = id.y * groups.x + id.x;
  for (var i = 0u; i < SERIAL; i++) {
    let index = (group * SERIAL + i) * WORKGROUP + local;
    if (index * 16u >= sampleCount) { break; }
    let words = samples[index];
    let rest = sampleCount - index * 16u;
    for (var byte = 0u; byte < 4u; byte++) {
      let bin = (words >> vec4u(8u * byte)) & vec4u(255u);
      if (byte < rest) { atomicAdd(&counted[bin.x], 1u); }
      if (byte + 4u < rest) { atomicAdd(&counted[bin.y], 1u); }
      if (byte + 8u < rest) { atomicAdd(&counted[bin.z], 1u); }
      if (byte + 12u < rest) { atomicAdd(&counted[bin.w], 1u); }
    }
  }
  workgroupBarrier();

  for (var bin = local; bin < BINS; bin += WORKGROUP) {
    atomicAdd(&bins[bin], atomicLoad(&counted[bin]));
  }
}`;

export interface HistogramOptions {
  readonly samples?: number;
  readonly seed?: number;
}

/** Creates a program that counts how often each byte occurs. */
export function create({
  samples = 100_001,
  seed = 1,
}: HistogramOptions = {}): VerifiableProgram<{ bins: Uint32Array }> {
  // Half of the words lose about half of their bits, so that bins fill unevenly.
  const words = randomWords(4 * Math.ceil(samples / 16), seed);
  for (let i = 1; i < words.length; i += 2) words[i] = words[i]! & words[i - 1]!;

  const prepare = (device: GPUDevice): Prepared<{ bins: Uint32Array }> => {
    const module = device.createShaderModule({ code: COUNT });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const sampleCount = uploadBuffer(device, Uint32Array.of(samples), GPUBufferUsage.UNIFORM);
    const input = uploadBuffer(device, words);
    const bins = resultBuffer(device, BINS * 4);
    const bindings = bindBuffers(device, pipeline, sampleCount, input, bins);
    return {
      encode(encoder) {
        encoder.clearBuffer(bins);
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, bindings);
        pass.dispatchWorkgroups(...gridOf(Math.ceil(words.length / (4 * WORKGROUP * SERIAL))));
        pass.end();
      },
      read: async () => ({ bins: new Uint32Array(await readBuffers(device, bins)) }),
      destroy() {
        for (const buffer of [sampleCount, input, bins]) buffer.destroy();
      },
    };
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ bins }) => verifyExact("bins", bins, countBytes(words, samples)),
    kernelSources: { count: COUNT },
    work: { bytes: 4 * words.length, flops: 0 },
  };
}

export default (device: GPUDevice) => create().workload(device);

/**
 * Counts bytes through a view of the words. WebGPU hosts are little-endian, so the view has the
 * order that the kernel's shifts have.
 */
function countBytes(words: Uint32Array, samples: number): Uint32Array {
  const bins = new Uint32Array(BINS);
  for (const byte of new Uint8Array(words.buffer, 0, samples)) bins[byte]!++;
  return bins;
}

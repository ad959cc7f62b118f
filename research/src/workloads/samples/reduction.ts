import { bindBuffers, gridOf, readBuffers, resultBuffer } from "../buffers.ts";
import { type Prepared, runOnce, type VerifiableProgram, verifyExact } from "../program.ts";
import { randomIntegers, randomWords } from "../random.ts";

const WORKGROUP = 128;
/** The number of vectors that each invocation adds up before the tree begins. */
const SERIAL = 8;
const BLOCK = WORKGROUP * SERIAL * 4;

/**
 * Returns the kernel of one pass: each workgroup adds up one block, serially and then as a tree in
 * workgroup memory.
 */
const reduceKernel = (type: "u32" | "f32") => /* wgsl */ `
const WORKGROUP = ${WORKGROUP}u;
const SERIAL = ${SERIAL}u;

@group(0) @binding(0) var<storage, read> elements: array<vec4<${type}>>; // zeros beyond the end
@group(0) @binding(1) var<storage, read_write> sums: array<${type}>;

var<workgroup> partial: array<${type}, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn reduce(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let group = id.y * groups.x + id.x;
  let count = arrayLength(&elements);

  var sum = vec4<${type}>();
  for (var i = 0u; i < SERIAL; i++) {
    let index = (group * SERIAL + i) * WORKGROUP + local;
    if (index < count) { sum += elements[index]; }
  }
  partial[local] = sum.x + sum.y + sum.z + sum.w;
  workgroupBarrier();

  for (var width = WORKGROUP / 2u; width > 0u; width /= 2u) {
    if (local < width) { partial[local] += partial[local + width]; }
    workgroupBarrier();
  }

  if (local == 0u && group < arrayLength(&sums)) { sums[group] = partial[0]; }
}`;

export interface ReductionOptions {
  readonly length?: number;
  readonly type?: "u32" | "f32";
  readonly seed?: number;
}

/**
 * Creates the sum of all elements, pass after pass until one is left. A sum of u32 is modulo 2^32.
 * A sum of f32 is over whole numbers so small that every partial sum stays below 2^24 and is exact
 * in any order.
 */
export function create(
  options: ReductionOptions = {},
): VerifiableProgram<{ sum: Uint32Array | Float32Array }> {
  const { length = 100_000, type = "u32", seed = 1 } = options;
  const elements = type === "u32" ? randomWords(length, seed) : randomIntegers(length, 8, seed);
  const kernel = reduceKernel(type);
  const passes = passLengths(length);

  const prepare = (device: GPUDevice): Prepared<{ sum: Uint32Array | Float32Array }> => {
    const module = device.createShaderModule({ code: kernel });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const buffers = [length, ...passes].map((elements) => resultBuffer(device, 16 * Math.ceil(elements / 4)));
    device.queue.writeBuffer(buffers[0]!, 0, elements);
    const bindings = passes.map((_, i) => bindBuffers(device, pipeline, buffers[i]!, buffers[i + 1]!));
    return {
      encode(encoder) {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        passes.forEach((workgroups, i) => {
          pass.setBindGroup(0, bindings[i]!);
          pass.dispatchWorkgroups(...gridOf(workgroups));
        });
        pass.end();
      },
      async read() {
        const bytes = await readBuffers(device, buffers.at(-1)!);
        return { sum: type === "u32" ? new Uint32Array(bytes, 0, 1) : new Float32Array(bytes, 0, 1) };
      },
      destroy() {
        for (const buffer of buffers) buffer.destroy();
      },
    };
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ sum }) => verifyExact("sum", sum, sumOf(elements)),
    kernelSources: { reduce: kernel },
    work: { bytes: 4 * length, flops: type === "f32" ? length : 0 },
  };
}

export default (device: GPUDevice) => create().workload(device);

/** Returns the number of sums that each pass leaves, down to one. */
function passLengths(length: number): number[] {
  const sums = Math.ceil(length / BLOCK);
  return sums <= 1 ? [1] : [sums, ...passLengths(sums)];
}

function sumOf(elements: Uint32Array | Float32Array): Uint32Array | Float32Array {
  let sum = 0;
  // The sum of u32 is cut to 32 bits at every step: f64 is exact only up to 2^53.
  if (elements instanceof Uint32Array) for (const element of elements) sum = (sum + element) >>> 0;
  else for (const element of elements) sum += element;
  return elements instanceof Uint32Array ? Uint32Array.of(sum) : Float32Array.of(sum);
}

import { gridOf, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, prepareDispatch, runOnce, type VerifiableProgram, verifyExact } from "../program.ts";
import { randomWords } from "../random.ts";

const WORKGROUP = 256;

const types = { 4: "u32", 8: "vec2u", 12: "array<u32, 3>", 16: "vec4u", 64: "array<vec4u, 4>" } as const;

/** Returns a kernel that only accesses memory: each invocation copies one element. */
const kernelFor = (type: string) => /* wgsl */ `
@group(0) @binding(0) var<storage, read> original: array<${type}>;
@group(0) @binding(1) var<storage, read_write> duplicate: array<${type}>;

@compute @workgroup_size(${WORKGROUP})
fn copy(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let index = id.y * groups.x * ${WORKGROUP}u + id.x;
  if (index < arrayLength(&original)) { duplicate[index] = original[index]; }
}`;

export interface CopyOptions {
  readonly elements?: number;
  readonly bytesPerElement?: keyof typeof types;
}

/** Creates a program that copies a buffer, element by element. */
export function create({ elements = 4096, bytesPerElement = 16 }: CopyOptions = {}): VerifiableProgram<{
  duplicate: Uint32Array;
}> {
  const source = kernelFor(types[bytesPerElement]);
  const words = randomWords((elements * bytesPerElement) / 4, 1);

  const prepare = (device: GPUDevice): Prepared<{ duplicate: Uint32Array }> => {
    const original = uploadBuffer(device, words);
    const duplicate = resultBuffer(device, words.byteLength);
    return prepareDispatch(device, source, {
      buffers: [original, duplicate],
      grid: gridOf(Math.ceil(elements / WORKGROUP)),
      read: async () => ({ duplicate: new Uint32Array(await readBuffers(device, duplicate)) }),
    });
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ duplicate }) => verifyExact("duplicate", duplicate, words),
    kernelSources: { copy: source },
    work: { bytes: 2 * words.byteLength, flops: 0 },
  };
}

export default (device: GPUDevice) => create().workload(device);

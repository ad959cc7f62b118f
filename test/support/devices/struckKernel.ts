/**
 * A kernel that uses every structure that faults can strike. It can run any number of times on one
 * device.
 */
import {
  bindBuffers,
  readBuffers,
  resultBuffer,
  uploadBuffer,
} from "belay-research/internal/workloads/buffers";

export const struckCode = /* wgsl */ `
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<vec2u>;
var<workgroup> tile: array<u32, 32>;
@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) l: u32) {
  let i = group.x * 32u + l;
  let base = group.x * 7u;
  var sum = a[i] + base;
  if (base > 3u) { sum += 5u; }
  tile[l] = sum;
  workgroupBarrier();
  var steps = 0u;
  for (var k = l & 3u; k > 0u; k -= 1u) { steps += sum; }
  out[i] = vec2u(tile[31u - l] + 1u, steps);
}`;

/** The same kernel, with atomic operations on workgroup memory. */
export const struckAtomics = struckCode
  .replace("array<u32, 32>", "array<atomic<u32>, 32>")
  .replace("tile[l] = sum", "atomicAdd(&tile[l], sum)")
  .replace("tile[31u - l]", "atomicLoad(&tile[31u - l])");

/**
 * Prepares the kernel. Returns a function that runs `dispatches` dispatches of two workgroups each,
 * and returns the words that each of them stored.
 */
export async function prepareStruckKernel(device: GPUDevice, dispatches = 1, code = struckCode) {
  const words = Uint32Array.from({ length: 64 }, (_, i) => i * 7 + 1);
  const input = uploadBuffer(device, words);
  const outputs = Array.from({ length: dispatches }, () => resultBuffer(device, 512));
  const module = device.createShaderModule({ code });
  const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
  const groups = outputs.map((output) => bindBuffers(device, pipeline, input, output));
  return async (): Promise<Uint32Array[]> => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    for (const group of groups) {
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(2);
    }
    pass.end();
    device.queue.submit([encoder.finish()]);
    const read = new Uint32Array(await readBuffers(device, ...outputs));
    return outputs.map((_, n) => read.slice(128 * n, 128 * (n + 1)));
  };
}

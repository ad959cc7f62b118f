/** Flips a bit of weights that kernels trust between two scrubs, and scrubs memory. */
import { describeMemoryError, harden, requestFullDevice } from "belay-gpu";
import { openGpu } from "belay-node";

const { adapter, close } = await openGpu();
const plain = await requestFullDevice(adapter);
const device = harden(plain, {
  memory: "secded128",
  memoryCheck: "scrubs",
  scrubIntervalMs: 600_000,
  injectFaults: true,
});
device.belay.addEventListener("suspectResults", ({ detail: { errors } }) =>
  console.log("released results may be wrong:", describeMemoryError(errors[0]!)),
);

const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
const weights = device.createBuffer({ label: "weights", size: 256, usage: STORAGE | COPY_DST });
const outputs = device.createBuffer({ label: "outputs", size: 256, usage: STORAGE | COPY_SRC });
device.queue.writeBuffer(weights, 0, new Float32Array(64).fill(2));
const module = device.createShaderModule({
  code: `
@group(0) @binding(0) var<storage, read> weights: array<f32>;
@group(0) @binding(1) var<storage, read_write> outputs: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { outputs[i] = 3.0 * weights[i]; }`,
});
const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
const entries = [weights, outputs].map((buffer, binding) => ({ binding, resource: { buffer } }));
const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });

async function multiply() {
  const result = device.createBuffer({ size: 256, usage: COPY_DST | MAP_READ });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(1);
  pass.end();
  encoder.copyBufferToBuffer(outputs, 0, result, 0, 256);
  device.queue.submit([encoder.finish()]);
  await result.mapAsync(GPUMapMode.READ);
  console.log("output 7:", new Float32Array(result.getMappedRange())[7]);
}

await multiply();
device.belay.flip(weights, 4 * 7, 1 << 22);
await multiply();
await device.belay.scrub();
await multiply();
close();

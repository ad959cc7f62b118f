/** Adds numbers on a hardened device of Deno's own WebGPU. */
import { harden, requestFullDevice } from "belay-gpu";

const adapter = await navigator.gpu.requestAdapter();
if (!adapter) throw new Error("Deno finds no GPU here");
const device = harden(await requestFullDevice(adapter));

const code = `@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3u) {
  x[id.x] = x[id.x] + 1000;
}`;
const module = device.createShaderModule({ code });
const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
const x = device.createBuffer({ size: 256, usage: STORAGE | COPY_SRC | COPY_DST });
const result = device.createBuffer({ size: 256, usage: MAP_READ | COPY_DST });
device.queue.writeBuffer(
  x,
  0,
  Uint32Array.from({ length: 64 }, (_, i) => i),
);
const encoder = device.createCommandEncoder();
const pass = encoder.beginComputePass();
pass.setPipeline(pipeline);
const entries = [{ binding: 0, resource: { buffer: x } }];
pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
pass.dispatchWorkgroups(1);
pass.end();
encoder.copyBufferToBuffer(x, 0, result, 0, 256);
device.queue.submit([encoder.finish()]);
await result.mapAsync(GPUMapMode.READ);
console.log("7 + 1000 =", new Uint32Array(result.getMappedRange())[7]);
const { checks } = await device.belay.report();
console.log("checks:", checks);
device.destroy();

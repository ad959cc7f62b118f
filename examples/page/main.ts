/** A page that keeps its memory under an error-correcting code, while one bit of it flips. */
import { harden, requestFullDevice } from "belay-gpu";

const lines: string[] = [];
const adapter = await navigator.gpu.requestAdapter();
if (!adapter) throw new Error("this browser has no WebGPU");
const device = harden(await requestFullDevice(adapter), { memory: "secded128", injectFaults: true });
device.belay.addEventListener("corrected", ({ message }) => lines.push(message));

const code = `@group(0) @binding(0) var<storage, read> values: array<u32>;
@group(0) @binding(1) var<storage, read_write> doubled: array<u32>;
@compute @workgroup_size(64) fn double(@builtin(global_invocation_id) id: vec3u) {
  doubled[id.x] = 2 * values[id.x];
}`;
const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
const values = device.createBuffer({ label: "values", size: 256, usage: STORAGE | COPY_DST });
const doubled = device.createBuffer({ label: "doubled", size: 256, usage: STORAGE | COPY_SRC });
const result = device.createBuffer({ size: 256, usage: MAP_READ | COPY_DST });
device.queue.writeBuffer(
  values,
  0,
  Uint32Array.from({ length: 64 }, (_, i) => i),
);
device.belay.flip(values, 4 * 21, 1 << 9);

const module = device.createShaderModule({ code });
const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
const entries = [values, doubled].map((buffer, binding) => ({ binding, resource: { buffer } }));
const encoder = device.createCommandEncoder();
const pass = encoder.beginComputePass();
pass.setPipeline(pipeline);
pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
pass.dispatchWorkgroups(1);
pass.end();
encoder.copyBufferToBuffer(doubled, 0, result, 0, 256);
device.queue.submit([encoder.finish()]);
await result.mapAsync(GPUMapMode.READ);
lines.push(`2 * 21 = ${new Uint32Array(result.getMappedRange())[21]}`);
document.querySelector("#output")!.textContent = lines.join("\n");

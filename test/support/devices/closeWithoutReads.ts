/**
 * Opens WebGPU several times, and closes it while a hardened device verifies work that nobody
 * reads. A program of its own, as a mistake in it crashes the process.
 */
import { harden } from "belay-gpu";
import { openGpu } from "belay-node";

const code = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64) fn square(@builtin(global_invocation_id) id: vec3u) {
  x[id.x] = x[id.x] * x[id.x];
}`;

for (let i = 0; i < 5; i++) {
  const opened = await openGpu();
  const device = harden(await opened.adapter.requestDevice());
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const buffer = device.createBuffer({ size: 256, usage: GPUBufferUsage.STORAGE });
  const layout = pipeline.getBindGroupLayout(0);
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] }));
  pass.dispatchWorkgroups(1);
  pass.end();
  device.queue.submit([encoder.finish()]);
  opened.close();
}
for (let i = 0; i < 20; i++) {
  globalThis.gc!();
  await new Promise((resolve) => setTimeout(resolve, 10));
}
console.log("closed");

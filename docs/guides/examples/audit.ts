/** Audits a device that divides wrongly in one kernel of the program. */
import { harden, requestFullDevice } from "belay-gpu";
import { auditor } from "belay-gpu/audit";
import { openGpu } from "belay-node";

const code = `
  @group(0) @binding(0) var<storage, read> x: array<f32>;
  @group(0) @binding(1) var<storage, read_write> mean: array<f32>;
  @compute @workgroup_size(64) fn blur(@builtin(global_invocation_id) id: vec3u) {
    let i = id.x;
    if (i == 0u || i + 1u >= arrayLength(&x)) { return; }
    mean[i] = (x[i - 1u] + x[i] + x[i + 1u]) / 3.0;
  }`;

const { adapter, close } = await openGpu();
const plain = await requestFullDevice(adapter);
// A driver with a mistake: it computes another divisor.
const createShaderModule = plain.createShaderModule.bind(plain);
plain.createShaderModule = (given) => createShaderModule({ code: given.code.replace(/\/ 3(\.0)?/, "/ 4.0") });

const device = harden(plain, { audit: auditor({ rate: 0.1, budget: 1, seed: 1 }) });
device.belay.addEventListener("disagreement", ({ message }) => console.log(message), { once: true });

const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
const buffers = [0, 1].map(() => device.createBuffer({ size: 4096, usage }));
device.queue.writeBuffer(
  buffers[0]!,
  0,
  Float32Array.from({ length: 1024 }, (_, i) => i),
);
const module = device.createShaderModule({ code });
const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
for (let i = 0; i < 10; i++) {
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(16);
  pass.end();
  device.queue.submit([encoder.finish()]);
}
const { audit, detections } = await device.belay.report().then((report) => ({
  audit: report.audit!,
  detections: report.kernels[0]!.detections,
}));
console.log(`replicas disagreed ${detections} times`);
console.log(`${audit.workgroups} workgroups of ${audit.dispatches} dispatches: ${audit.disagreed} wrong`);
close();

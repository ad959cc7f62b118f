/** Squares numbers on a hardened device in Node.js, while one bit of one product flips. */
import { harden, requestFullDevice } from "belay-gpu";
import { openGpu } from "belay-node";

const { adapter, close } = await openGpu();
const device = harden(await requestFullDevice(adapter), { check: "store", injectFaults: true });
device.belay.addEventListener("fault", ({ message }) => console.log(message));

const code = `@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64) fn square(@builtin(global_invocation_id) id: vec3u) {
  x[id.x] = x[id.x] * x[id.x];
}`;
const module = device.createShaderModule({ code });
const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
const x = device.createBuffer({ size: 256, usage: STORAGE | COPY_SRC | COPY_DST });
const result = device.createBuffer({ size: 256, usage: MAP_READ | COPY_DST });
device.queue.writeBuffer(
  x,
  0,
  Float32Array.from({ length: 64 }, (_, i) => i),
);

// Flip a bit of the product of invocation 7.
const [square] = device.belay.faultSites();
const product = square.sites.find(({ span }) => code.startsWith("x[id.x] * x[id.x]", span.start));
const invocation = { workgroup: [0, 0, 0], localIndex: 7, replica: 1 };
device.belay.arm({ kernel: "square", site: product.id, effect: { xor: 1 << 20 }, ...invocation });

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
console.log("7 * 7 =", new Float32Array(result.getMappedRange())[7]);
device.destroy();
close();

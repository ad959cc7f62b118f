/** Finds the product that a kernel computes, and checks its result before and after damage. */
import { findSumsOfProducts, SumsCheck } from "belay-gpu/algebra";
import { openGpu } from "belay-node";

const size = 64;
const source = `
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(8, 8) fn multiply(@builtin(global_invocation_id) id: vec3u) {
  var sum = 0.0;
  for (var k = 0u; k < ${size}u; k++) { sum += a[id.y * ${size}u + k] * b[k * ${size}u + id.x]; }
  c[id.y * ${size}u + id.x] = sum;
}`;
const grid = [size / 8, size / 8, 1] as const;
const bytes = 4 * size * size;
const sums = findSumsOfProducts({ source }, { grid, sizeOf: () => bytes, wordAt: () => undefined });
if ("reason" in sums) throw new Error(sums.reason);
console.log("each result is a sum of", sums.terms[0]!.size, "products");

const { adapter, close } = await openGpu();
const device = await adapter.requestDevice();
const { STORAGE, COPY_DST } = GPUBufferUsage;
const buffers = [0, 1, 2].map(() => device.createBuffer({ size: bytes, usage: STORAGE | COPY_DST }));
const [a, b, c] = buffers as [GPUBuffer, GPUBuffer, GPUBuffer];
for (const factor of [a, b])
  device.queue.writeBuffer(factor, 0, Float32Array.from({ length: size * size }, Math.random));
const module = device.createShaderModule({ code: source });
const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });

const check = new SumsCheck(device, sums, bytes);
const operandOf = ({ of }: typeof sums.left) => ({ buffer: buffers[of.binding]! });
const operands = { left: operandOf(sums.left), right: operandOf(sums.right), output: { buffer: c } };
const submit = (encode: (pass: GPUComputePassEncoder) => void) => {
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  encode(pass);
  pass.end();
  device.queue.submit([encoder.finish()]);
};
submit((pass) => {
  check.before(pass, operands);
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(...grid);
  check.after(pass, operands);
});
console.log("as it was computed:", (await check.verdict()).outcome);

device.queue.writeBuffer(c, 4 * (5 * size + 7), Float32Array.of(100));
submit((pass) => check.after(pass, operands));
const { outcome, mismatch } = await check.verdict();
console.log("with a wrong number:", outcome, typeof mismatch === "object" ? mismatch.result : "");
close();

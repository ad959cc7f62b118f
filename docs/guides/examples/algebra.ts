/** Multiplies two matrices on a hardened device that checks products by algebra, with a fault. */
import { harden } from "belay-gpu";
import { algebra } from "belay-gpu/algebra";
import { openGpu } from "belay-node";

const { adapter, close } = await openGpu();
const device = harden(await adapter.requestDevice(), {
  algebra: algebra({ leastMultiplications: 0 }),
  injectFaults: true,
});
device.belay.addEventListener("repair", ({ detail: { kernel, result } }) =>
  console.log(`${kernel} was wrong from result ${result} on, and ran again`),
);

const size = 64;
const code = `
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(8, 8) fn multiply(@builtin(global_invocation_id) id: vec3u) {
  var sum = 0.0;
  for (var k = 0u; k < ${size}u; k++) { sum += a[id.y * ${size}u + k] * b[k * ${size}u + id.x]; }
  c[id.y * ${size}u + id.x] = sum;
}`;
const module = device.createShaderModule({ code });
const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
const bytes = 4 * size * size;
const buffers = [0, 1, 2].map(() =>
  device.createBuffer({ size: bytes, usage: STORAGE | COPY_SRC | COPY_DST }),
);
for (const factor of buffers.slice(0, 2))
  device.queue.writeBuffer(factor, 0, new Float32Array(size * size).fill(0.5));
const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
const result = device.createBuffer({ size: bytes, usage: MAP_READ | COPY_DST });

/** Computes the product, and returns one of its numbers. */
async function multiply(): Promise<number> {
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(size / 8, size / 8);
  pass.end();
  encoder.copyBufferToBuffer(buffers[2]!, 0, result, 0, bytes);
  device.queue.submit([encoder.finish()]);
  await result.mapAsync(GPUMapMode.READ);
  const number = new Float32Array(result.getMappedRange())[5 * size + 7]!;
  result.unmap();
  return number;
}

const state = async () => {
  const [{ dispatches, sums }] = (await device.belay.report()).kernels as [Kernel];
  return `${sums!.checked} of ${dispatches} dispatches checked, ${sums!.repaired} repaired`;
};
type Kernel = Awaited<ReturnType<typeof device.belay.report>>["kernels"][number];

console.log("under redundancy:", await multiply());
console.log(await state()); // waits until the sums are found
console.log("checked:", await multiply());
// Replace the sum of one invocation. The kernel without redundancy has a name of its own.
const alone = device.belay.faultSites().find(({ kernel }) => kernel === "multiply alone")!;
const site = alone.sites.find(({ span }) => code.startsWith("sum;", span.start))!;
const where = { workgroup: [0, 0, 0], localIndex: 8 * 5 + 7, replica: 0 } as const;
device.belay.arm({ kernel: alone.kernel, site: site.id, effect: { set: 0x42c80000 }, ...where });
console.log("with a fault:", await multiply());
console.log(await state());
close();

import { expect, it, vi } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { harden } from "../harden.ts";

const { sharedDevice } = testDevices();

const CODE = `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> more: array<u32>;
@compute @workgroup_size(4) fn first() { data[0]++; }
@compute @workgroup_size(4) fn second() { more[0]++; }`;

it("counts the dispatches that the device accepts where no fault can be detected", async () => {
  const device = harden(await sharedDevice({ errorsAreExpected: true }), { redundancy: "none" });
  const module = device.createShaderModule({ code: CODE });
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.INDIRECT | GPUBufferUsage.COPY_DST;
  const buffers = [0, 1].map(() => device.createBuffer({ size: 16, usage }));
  device.queue.writeBuffer(buffers[1]!, 0, Uint32Array.of(1, 1, 1));
  const kernels = ["first", "second"].map((entryPoint, binding) => {
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint } });
    const entries = [{ binding, resource: { buffer: buffers[0]! } }];
    return { pipeline, group: device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }) };
  });
  const run = (...dispatches: readonly ((pass: GPUComputePassEncoder) => void)[]) => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    for (const dispatch of dispatches) dispatch(pass);
    pass.end();
    device.queue.submit([encoder.finish()]);
  };
  const use = (i: 0 | 1) => (pass: GPUComputePassEncoder) => {
    pass.setPipeline(kernels[i]!.pipeline);
    pass.setBindGroup(0, kernels[i]!.group);
  };
  const direct = (pass: GPUComputePassEncoder) => pass.dispatchWorkgroups(1);
  const indirect = (pass: GPUComputePassEncoder) => pass.dispatchWorkgroupsIndirect(buffers[1]!, 0);
  run(use(0), direct, direct, use(1), indirect);
  run(use(1), direct);
  // The device rejects a dispatch without a bind group, and all commands beside it.
  run(use(0), direct, (pass) => pass.setBindGroup(0, null), direct);
  // Without a pipeline there is no kernel to count.
  run(direct);
  const { kernels: counted, snapshots } = await device.belay.report();
  expect(counted.map(({ entryPoint, dispatches }) => [entryPoint, dispatches])).toEqual([
    ["first", 2],
    ["second", 2],
  ]);
  expect(snapshots.held).toBe(0);
  device.destroy();
});

it("says nothing about the layouts of kernels that the policy leaves unprotected", async () => {
  const device = harden(await sharedDevice(), { redundancy: "none" });
  const warned = vi.spyOn(console, "warn");
  const storage = { type: "storage" } as const;
  const layout = device.createBindGroupLayout({
    entries: [0, 1].map((binding) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: storage })),
  });
  const module = device.createShaderModule({ code: CODE });
  const compute = { module, entryPoint: "first" };
  device.createComputePipeline({
    layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
    compute,
  });
  expect(warned).not.toHaveBeenCalled();
  expect((await device.belay.report()).kernels).toMatchObject([
    { kernel: "first", diagnostics: [{ code: "BELAY326" }] },
  ]);
  warned.mockRestore();
  device.destroy();
});

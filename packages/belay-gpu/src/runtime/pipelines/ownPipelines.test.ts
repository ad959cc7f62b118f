/** The program's own pipelines, which the driver compiles beside the protected ones. */
import { expect, it, vi } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { Policy } from "../context/policy.ts";
import { harden } from "../harden.ts";

const { sharedDevice } = testDevices();

const CODE = `
override step = 1u;
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(4) fn count(@builtin(global_invocation_id) id: vec3u) { data[id.x] += step; }`;

/** Returns the descriptor of a pipeline. Its explicit layout has one binding, or none. */
function descriptorOn(
  device: GPUDevice,
  bindings: "auto" | 0 | 1,
  constants: Record<string, number> = {},
): GPUComputePipelineDescriptor {
  const entry = { binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: "storage" } } as const;
  const entries = bindings === 1 ? [entry] : [];
  const bindGroupLayouts = [device.createBindGroupLayout({ entries })];
  const layout = bindings === "auto" ? "auto" : device.createPipelineLayout({ bindGroupLayouts });
  return { layout, compute: { module: device.createShaderModule({ code: CODE }), constants } };
}

it.each([
  ["default", "default layout", {}, { atOnce: [false], later: [true] }],
  ["default", "explicit layout", {}, { atOnce: [false], later: [true] }],
  // The program needs the default layouts of its own pipeline.
  ["secded128", "default layout", { memory: "secded128" }, { atOnce: [true, false], later: [] }],
  ["secded128", "explicit layout", { memory: "secded128" }, { atOnce: [false], later: [true] }],
] as const)("are compiled beside the protected ones: %s, %s", async (_, layout, policy: Policy, made) => {
  const native = await sharedDevice();
  const device = harden(native, policy);
  const descriptor = descriptorOn(device, layout === "explicit layout" ? 1 : "auto");
  const atOnce = vi.spyOn(native, "createComputePipeline");
  const later = vi.spyOn(native, "createComputePipelineAsync");
  device.createComputePipeline(descriptor);
  const isOwn = ([{ compute }]: [GPUComputePipelineDescriptor]) =>
    compute.module === descriptor.compute.module;
  expect({ atOnce: atOnce.mock.calls.map(isOwn), later: later.mock.calls.map(isOwn) }).toEqual(made);
  await device.belay.report();
  device.destroy();
});

it("have their errors in the order of calls, in the words of a plain device", async () => {
  const messagesOn = async (device: GPUDevice): Promise<(string | undefined)[]> => {
    const mistakes = [
      () => device.createBuffer({ size: 4, usage: 0 }),
      () => device.createComputePipeline(descriptorOn(device, "auto", { unknown: 1 })),
      () => device.createComputePipeline(descriptorOn(device, 0)),
    ];
    const messages: (string | undefined)[] = [];
    for (const first of mistakes) {
      device.pushErrorScope("validation");
      first();
      for (const other of mistakes) other();
      messages.push((await device.popErrorScope())?.message);
    }
    return messages;
  };
  const plain = await sharedDevice({ errorsAreExpected: true });
  const device = harden(await sharedDevice({ errorsAreExpected: true }));
  const messages = await messagesOn(plain);
  expect(messages.map((message) => message?.includes("CreateComputePipeline("))).toEqual([false, true, true]);
  expect(await messagesOn(device)).toEqual(messages);
  plain.destroy();
  device.destroy();
});

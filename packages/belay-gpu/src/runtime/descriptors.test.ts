/** WebGPU reads the members of a descriptor by name, inherited ones included. */
import { beforeAll, expect, it } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { harden } from "./harden.ts";
import type { HardenedDevice } from "./hardenedDevice.ts";

const { newDevice } = testDevices();
let device: HardenedDevice;
beforeAll(async () => {
  device = await harden(await newDevice(), { redundancy: "intra+lds" });
});

it("accepts a buffer as the descriptor of another", () => {
  const usage = GPUBufferUsage.STORAGE;
  const buffer = device.createBuffer(device.createBuffer({ label: "first", size: 16, usage }));
  expect(buffer).toMatchObject({ label: "first", size: 16, usage });
  const names: string[] = [];
  for (const name in buffer) names.push(name);
  expect(names).toEqual(expect.arrayContaining(["label", "size", "usage", "mapState"]));
});

const inheriting = <T extends object>(members: T): T => Object.create(members);

it("accepts a texture descriptor with inherited members", () => {
  const members = { format: "r32float", usage: GPUTextureUsage.STORAGE_BINDING } as const;
  const texture = device.createTexture(inheriting({ size: [4, 2], ...members }));
  expect(texture).toMatchObject({ width: 4, height: 2, ...members });
});

it("runs a program whose descriptors inherit their members", async () => {
  const code = `
    override factor = 1u;
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(4) fn scale(@builtin(local_invocation_index) i: u32) { out[i] = i * factor; }`;
  const visibility = GPUShaderStage.COMPUTE;
  const group = device.createBindGroupLayout(
    inheriting({
      entries: [inheriting({ binding: 0, visibility, buffer: inheriting({ type: "storage" }) })],
    }),
  );
  const pipeline = device.createComputePipeline(
    inheriting({
      layout: device.createPipelineLayout(inheriting({ bindGroupLayouts: [group] })),
      compute: inheriting({
        module: device.createShaderModule(inheriting({ code })),
        constants: { factor: 3 },
      }),
    }),
  );
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC;
  const out = device.createBuffer(inheriting({ size: 16, usage }));
  const bindings = device.createBindGroup(
    inheriting({
      layout: group,
      entries: [inheriting({ binding: 0, resource: inheriting({ buffer: out }) })],
    }),
  );
  const staging = device.createBuffer({ size: 16, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const encoder = device.createCommandEncoder();
  encodeDispatch(encoder, pipeline, bindings, 1);
  encoder.copyBufferToBuffer(out, 0, staging, 0, 16);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  expect([...new Uint32Array(staging.getMappedRange())]).toEqual([0, 3, 6, 9]);
  const [kernel] = (await device.belay.report()).kernels;
  expect(kernel).toMatchObject({ redundancy: "intra+lds", dispatches: 1 });
});

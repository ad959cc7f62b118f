import { describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { standInProtect } from "../../../../test/support/devices/standInCompiler.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { protect } from "../compiler/protect.ts";
import { type HardenedDevice, hardenWith } from "./hardenedDevice.ts";
import type { Workload } from "./tuning/workload.ts";

const { sharedDevice } = testDevices();

const storage = () => GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;

function upload(device: GPUDevice, values: readonly number[], usage = storage()): GPUBuffer {
  const buffer = device.createBuffer({ size: 4 * values.length, usage, mappedAtCreation: true });
  new Uint32Array(buffer.getMappedRange()).set(values);
  buffer.unmap();
  return buffer;
}

async function download(device: GPUDevice, buffer: GPUBuffer): Promise<Uint32Array> {
  const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
  const readBack = device.createBuffer({ size: buffer.size, usage });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, readBack, 0, buffer.size);
  device.queue.submit([encoder.finish()]);
  await readBack.mapAsync(GPUMapMode.READ);
  return new Uint32Array(readBack.getMappedRange().slice());
}

const ONE = `
override factor: u32 = 3;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(4) fn scale(@builtin(global_invocation_id) id: vec3u) { out[id.x] *= factor; }
@compute @workgroup_size(2) fn raise(@builtin(global_invocation_id) id: vec3u) { out[id.x] += 1; }
`;
const TWO = `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(1) @binding(0) var<storage, read> bias: array<u32>;
@compute @workgroup_size(4) fn add(@builtin(global_invocation_id) id: vec3u) { out[id.x] += bias[id.x % 4]; }
`;

function layouts(device: GPUDevice) {
  const layout = (type: GPUBufferBindingType, hasDynamicOffset = false) =>
    device.createBindGroupLayout({
      entries: [{ binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type, hasDynamicOffset } }],
    });
  return { out: layout("storage"), bias: layout("read-only-storage", true) };
}

function group(
  device: GPUDevice,
  layout: GPUBindGroupLayout,
  buffer: GPUBuffer,
  size?: number,
): GPUBindGroup {
  return device.createBindGroup({
    layout,
    entries: [{ binding: 0, resource: { buffer, ...(size && { size }) } }],
  });
}

const workloads: Record<string, Workload> = {
  "an override and two entry points of one module, in several passes and submissions": async (device) => {
    const module = device.createShaderModule({ code: ONE });
    const out = upload(device, [1, 2, 3, 4, 5, 6, 7, 8]);
    const scale = await device.createComputePipelineAsync({
      layout: "auto",
      compute: { module, entryPoint: "scale", constants: { factor: 7 } },
    });
    const raise = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "raise" } });
    for (let round = 0; round < 3; round++) {
      const encoder = device.createCommandEncoder();
      for (const [pipeline, count] of [
        [scale, 2],
        [raise, 4],
      ] as const) {
        const pass = encoder.beginComputePass({ label: "mine" });
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group(device, pipeline.getBindGroupLayout(0), out));
        pass.dispatchWorkgroups(count);
        pass.end();
      }
      device.queue.submit([encoder.finish()]);
    }
    return { out: await download(device, out) };
  },

  "explicit layouts with dynamic offsets, and a bind group that Belay's displaces in between": async (
    device,
  ) => {
    const explicit = layouts(device);
    const out = upload(device, [1, 2, 3, 4, 5, 6, 7, 8]);
    const bias = upload(
      device,
      Array.from({ length: 128 }, (_, i) => i * 10),
    );
    const pipeline = (code: string, entryPoint: string, bindGroupLayouts: GPUBindGroupLayout[]) =>
      device.createComputePipeline({
        layout: device.createPipelineLayout({ bindGroupLayouts }),
        compute: { module: device.createShaderModule({ code }), entryPoint },
      });
    const scale = pipeline(ONE, "scale", [explicit.out]);
    const wide = pipeline(ONE, "raise", [explicit.out, explicit.bias]);
    const add = pipeline(TWO, "add", [explicit.out, explicit.bias]);
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    const offsets = new Uint32Array([0, 256]);
    pass.setBindGroup(0, group(device, explicit.out, out));
    pass.setBindGroup(1, group(device, explicit.bias, bias, 16), offsets, 1, 1);
    offsets.fill(0);
    for (const each of [scale, add, wide, scale, add, add]) {
      pass.setPipeline(each);
      pass.dispatchWorkgroups(2);
    }
    pass.end();
    device.queue.submit([encoder.finish()]);
    return { out: await download(device, out) };
  },

  "an indirect dispatch, a clear and a copy": async (device) => {
    const module = device.createShaderModule({ code: ONE });
    const out = upload(device, [1, 2, 3, 4, 5, 6, 7, 8]);
    const copy = upload(device, [9, 9, 9, 9]);
    const grid = upload(device, [0, 2, 1, 1], GPUBufferUsage.INDIRECT | GPUBufferUsage.COPY_DST);
    const scale = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "scale" } });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(scale);
    pass.setBindGroup(0, group(device, scale.getBindGroupLayout(0), out));
    pass.dispatchWorkgroupsIndirect(grid, 4);
    pass.end();
    encoder.copyBufferToBuffer(out, 8, copy, 0, 8);
    encoder.clearBuffer(out, 16);
    device.queue.submit([encoder.finish()]);
    return { out: await download(device, out), copy: await download(device, copy) };
  },

  "several submissions in flight, read back out of order": async (device) => {
    const module = device.createShaderModule({ code: ONE });
    const raise = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "raise" } });
    const buffers = [1, 2, 3].map((n) => upload(device, [n, n, n, n]));
    for (const buffer of buffers) {
      const encoder = device.createCommandEncoder();
      encodeDispatch(encoder, raise, group(device, raise.getBindGroupLayout(0), buffer), 2);
      device.queue.submit([encoder.finish()]);
    }
    const [c, b, a] = await Promise.all(buffers.reverse().map((buffer) => download(device, buffer)));
    return { a: a!, b: b!, c: c! };
  },

  "a texture that is filled, drawn into and read back": async (device) => {
    const usage = GPUTextureUsage.COPY_SRC | GPUTextureUsage.COPY_DST | GPUTextureUsage.RENDER_ATTACHMENT;
    const texture = device.createTexture({ size: [64, 1], format: "r32uint", usage });
    device.queue.writeTexture({ texture }, new Uint32Array(64).fill(5), { bytesPerRow: 256 }, [64, 1]);
    const before = upload(device, new Array(64).fill(0));
    const after = upload(device, new Array(64).fill(0));
    const encoder = device.createCommandEncoder();
    encoder.copyTextureToBuffer({ texture }, { buffer: before, bytesPerRow: 256 }, [64, 1]);
    const clearValue = { r: 7, g: 0, b: 0, a: 0 };
    const view = texture.createView();
    encoder
      .beginRenderPass({ colorAttachments: [{ view, loadOp: "clear", storeOp: "store", clearValue }] })
      .end();
    encoder.copyTextureToBuffer({ texture }, { buffer: after, bytesPerRow: 256 }, [64, 1]);
    device.queue.submit([encoder.finish()]);
    return { before: await download(device, before), after: await download(device, after) };
  },
};

describe.each(Object.entries(workloads))("%s", (_, workload) => {
  it.each([
    ["a stand-in", standInProtect, "intra+lds"],
    ["the compiler", protect, "intra+lds"],
    ["whole workgroups as replicas", protect, "inter"],
  ] as const)("computes the same bytes hardened as plain, with %s", async (_, compiler, redundancy) => {
    const plain = await sharedDevice();
    const expected = await workload(plain);
    expect(
      Object.values(expected).some((view) => new Uint32Array(view.buffer).some((word) => word !== 0)),
    ).toBe(true);
    const device = hardenWith(compiler, await sharedDevice(), { redundancy });
    expect(await workload(device)).toEqual(expected);
    const { kernels, faults } = await device.belay.report();
    expect(faults).toEqual([]);
    for (const kernel of kernels) expect(kernel).toMatchObject({ redundancy, diagnostics: [] });
    plain.destroy();
    device.destroy();
  });
});

describe("a pipeline layout without room for the report", () => {
  const pipelineIn = (device: HardenedDevice, bindGroupLayouts: GPUBindGroupLayout[]) =>
    device.createComputePipeline({
      layout: device.createPipelineLayout({ bindGroupLayouts }),
      compute: { module: device.createShaderModule({ code: ONE }), entryPoint: "raise" },
    });

  it("leaves the kernel unprotected if all storage buffers are in use", async () => {
    const device = hardenWith(standInProtect, await sharedDevice());
    const entries = Array.from({ length: device.limits.maxStorageBuffersPerShaderStage }, (_, binding) => ({
      binding,
      visibility: GPUShaderStage.COMPUTE,
      buffer: { type: "storage" } as const,
    }));
    pipelineIn(device, [device.createBindGroupLayout({ entries })]);
    const { kernels } = await device.belay.report();
    expect(kernels).toMatchObject([{ redundancy: "none", diagnostics: [{ code: "BELAY324" }] }]);
    device.destroy();
  });
});

import { describe, expect, it } from "vitest";
import { catalog } from "../../../../research/src/index.ts";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { referenceDevice } from "./index.ts";

const devices = testDevices();

/** Returns a buffer with some words. */
function bufferOf(device: GPUDevice, words: readonly number[], usage: number): GPUBuffer {
  const buffer = device.createBuffer({ size: 4 * words.length, usage: usage | GPUBufferUsage.COPY_DST });
  device.queue.writeBuffer(buffer, 0, Uint32Array.from(words));
  return buffer;
}

/** Returns the words of a buffer after all commands so far. */
async function wordsOf(device: GPUDevice, buffer: GPUBuffer): Promise<number[]> {
  const reader = device.createBuffer({
    size: buffer.size,
    usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, reader, 0, buffer.size);
  device.queue.submit([encoder.finish()]);
  await reader.mapAsync(GPUMapMode.READ);
  return [...new Uint32Array(reader.getMappedRange())];
}

const addKernel = `@group(0) @binding(1) var<uniform> added: vec4u;
  @group(0) @binding(0) var<storage, read_write> x: array<u32>;
  @compute @workgroup_size(1) fn add(@builtin(workgroup_id) id: vec3u) { x[id.x] += added.x; }`;

function pipelineOf(device: GPUDevice, code: string, layout?: GPUPipelineLayout): GPUComputePipeline {
  const module = device.createShaderModule({ code });
  return device.createComputePipeline({ layout: layout ?? "auto", compute: { module } });
}

function groupOf(device: GPUDevice, layout: GPUBindGroupLayout, ...resources: GPUBindingResource[]) {
  const entries = resources.map((resource, binding) => ({ binding, resource }));
  return device.createBindGroup({ layout, entries });
}

describe("a device whose kernels run on the CPU", () => {
  const isSmall = ({ name }: (typeof catalog)[number]) =>
    /bitonicSort|histogram|prefixSum|urng|dct/.test(name);
  it.each(catalog.filter(isSmall))("computes the program $name", async ({ campaign }) => {
    const { workload, verify } = campaign();
    expect(verify(await workload(referenceDevice(await devices.newDevice())))).toMatchObject({ ok: true });
  });

  it("runs commands in their order: writes, copies, dispatches of several passes, and mappings", async () => {
    const device = referenceDevice(await devices.newDevice());
    const x = bufferOf(device, [1, 2, 3, 4], GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC);
    const y = bufferOf(device, [0, 0], GPUBufferUsage.COPY_SRC);
    const added = bufferOf(device, [10, 0, 0, 0], GPUBufferUsage.UNIFORM);
    const pipeline = pipelineOf(device, addKernel);
    const group = groupOf(device, pipeline.getBindGroupLayout(0), { buffer: x }, { buffer: added });
    const dispatch = (encoder: GPUCommandEncoder, count: number) => {
      encodeDispatch(encoder, pipeline, group, count);
    };
    const encoder = device.createCommandEncoder();
    dispatch(encoder, 4);
    encoder.copyBufferToBuffer(x, 0, y, 0, 8);
    encoder.copyBufferToBuffer(y, 0, x, 8, 8);
    encoder.clearBuffer(x, 0, 4);
    dispatch(encoder, 2);
    device.queue.submit([encoder.finish()]);
    const words = Uint32Array.of(100);
    device.queue.writeBuffer(added, 0, words);
    words[0] = 7;
    const next = device.createCommandEncoder();
    dispatch(next, 1);
    device.queue.submit([next.finish()]);
    added.destroy();
    expect(await wordsOf(device, x)).toEqual([110, 22, 11, 12]);
  });

  it("names the loss of the device to mappings", async () => {
    const native = await devices.newDevice({ errorsAreExpected: true });
    const device = referenceDevice(native);
    const x = bufferOf(device, [1], GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC);
    const added = bufferOf(device, [10, 0, 0, 0], GPUBufferUsage.UNIFORM);
    const pipeline = pipelineOf(device, addKernel);
    const encoder = device.createCommandEncoder();
    encodeDispatch(
      encoder,
      pipeline,
      groupOf(device, pipeline.getBindGroupLayout(0), { buffer: x }, { buffer: added }),
      1,
    );
    device.queue.submit([encoder.finish()]);
    const reading = wordsOf(device, x);
    native.destroy();
    await expect(reading).rejects.toThrow("the device was closed before its results were read");
  });

  it("takes the grid of an indirect dispatch, and the dynamic offset of a bind group", async () => {
    const device = referenceDevice(await devices.newDevice());
    const x = bufferOf(device, [1, 2, 3, 4], GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC);
    const added = bufferOf(
      device,
      Array.from({ length: 128 }, (_, i) => i),
      GPUBufferUsage.UNIFORM,
    );
    const grid = bufferOf(device, [9, 2, 1, 1], GPUBufferUsage.INDIRECT);
    const layout = device.createBindGroupLayout({
      entries: [
        {
          binding: 1,
          visibility: GPUShaderStage.COMPUTE,
          buffer: { type: "uniform", hasDynamicOffset: true },
        },
        { binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: "storage" } },
      ],
    });
    const pipeline = pipelineOf(
      device,
      addKernel,
      device.createPipelineLayout({ bindGroupLayouts: [layout] }),
    );
    const group = groupOf(device, layout, { buffer: x }, { buffer: added, size: 16 });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group, [256]);
    pass.dispatchWorkgroupsIndirect(grid, 4);
    pass.end();
    device.queue.submit([encoder.finish()]);
    expect(await wordsOf(device, x)).toEqual([65, 66, 3, 4]);
  });

  it("computes on textures: of several mip levels, rows and layers, loaded and stored", async () => {
    const run = async (device: GPUDevice) => {
      const { STORAGE_BINDING, TEXTURE_BINDING, COPY_DST, COPY_SRC } = GPUTextureUsage;
      const size = [5, 3, 2];
      const input = device.createTexture({
        format: "rg8uint",
        size,
        mipLevelCount: 2,
        usage: TEXTURE_BINDING | COPY_DST,
      });
      for (const mipLevel of [0, 1]) {
        const [width, height] = mipLevel === 0 ? [5, 3] : [2, 1];
        const texels = Uint8Array.from({ length: 2 * width! * height! * 2 }, (_, i) => 100 * mipLevel + i);
        const layout = { bytesPerRow: 2 * width!, rowsPerImage: height! };
        device.queue.writeTexture({ texture: input, mipLevel }, texels, layout, [width!, height!, 2]);
      }
      const output = device.createTexture({ format: "r32uint", size, usage: STORAGE_BINDING | COPY_SRC });
      const pipeline = pipelineOf(
        device,
        `@group(0) @binding(0) var source: texture_2d_array<u32>;
         @group(0) @binding(1) var target_: texture_storage_2d<r32uint, read_write>;
         @compute @workgroup_size(5, 3) fn scale(@builtin(local_invocation_id) id: vec3u) {
           let small = textureLoad(source, id.xy / 3u, 1, 1).y;
           let own = textureLoad(source, id.xy, 1, 0);
           textureStore(target_, id.xy, textureLoad(target_, id.xy) + vec4u(small * 1000u + own.x));
         }`,
      );
      const view = output.createView({ dimension: "2d", baseArrayLayer: 1, arrayLayerCount: 1 });
      const group = groupOf(device, pipeline.getBindGroupLayout(0), input.createView(), view);
      const encoder = device.createCommandEncoder();
      for (let i = 0; i < 2; i++) {
        encodeDispatch(encoder, pipeline, group, 1);
      }
      const words = bufferOf(device, Array(384).fill(0), GPUBufferUsage.COPY_SRC);
      encoder.copyTextureToBuffer(
        { texture: output },
        { buffer: words, bytesPerRow: 256, rowsPerImage: 3 },
        size,
      );
      device.queue.submit([encoder.finish()]);
      return wordsOf(device, words);
    };
    const computed = await run(referenceDevice(await devices.newDevice()));
    expect(computed).toEqual(await run(await devices.newDevice()));
    expect(new Set(computed).size).toBeGreaterThan(10);
  });

  it.each([
    [
      "refuses a construct that the executor does not have",
      `@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@group(0) @binding(1) var image: texture_depth_2d;
@group(0) @binding(2) var filter_: sampler;
@compute @workgroup_size(1) fn look() { x[0] = u32(textureSampleLevel(image, filter_, vec2f(), 0)); }`,
      'the reference executor does not have samplers, which kernel "kernel" needs in line 3, column 27',
    ],
    [
      "refuses a texture that cannot be copied to a buffer",
      `@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@group(0) @binding(1) var image: texture_depth_2d;
@compute @workgroup_size(1) fn look() { x[0] = u32(textureLoad(image, vec2u(), 0)); }`,
      'the reference executor cannot read textures of format "depth24plus", such as that of kernel "kernel"',
    ],
    [
      "refuses a dispatch whose results the specification does not fix",
      `@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(1) fn beyond() { x[0] = 1;
  x[x[0] * 1000u] = 2; }`,
      'the specification fixes no result of kernel "kernel": an index is out of bounds, in workgroup (0, 0, 0), line 3, column 3',
    ],
  ])("%s, with its place", async (_, code, message) => {
    const device = referenceDevice(await devices.newDevice());
    const x = bufferOf(device, [1, 2], GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC);
    const pipeline = pipelineOf(device, code);
    const image = device.createTexture({
      size: [1],
      format: "depth24plus",
      usage: GPUTextureUsage.TEXTURE_BINDING | GPUTextureUsage.RENDER_ATTACHMENT,
    });
    const resources = [
      { buffer: x },
      ...(code.includes("image") ? [image.createView()] : []),
      ...(code.includes("sampler") ? [device.createSampler()] : []),
    ];
    const group = groupOf(device, pipeline.getBindGroupLayout(0), ...resources);
    const encoder = device.createCommandEncoder();
    encodeDispatch(encoder, pipeline, group, 1);
    device.queue.submit([encoder.finish()]);
    await expect(device.queue.onSubmittedWorkDone()).rejects.toThrow(message);
    await expect(wordsOf(device, x)).rejects.toThrow(message);
  });

  it("lets the GPU validate dispatches", async () => {
    const device = referenceDevice(await devices.newDevice({ errorsAreExpected: true }));
    const error = new Promise<string>((resolve) => {
      device.addEventListener("uncapturederror", (event) => resolve(event.error.message));
    });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipelineOf(device, addKernel));
    pass.dispatchWorkgroups(1);
    pass.end();
    device.queue.submit([encoder.finish()]);
    expect(await error).toContain("bind group");
  });

  it("leaves buffers alone that are mapped for writing", async () => {
    const device = referenceDevice(await devices.newDevice());
    const source = device.createBuffer({
      size: 8,
      usage: GPUBufferUsage.MAP_WRITE | GPUBufferUsage.COPY_SRC,
      mappedAtCreation: true,
    });
    new Uint32Array(source.getMappedRange()).set([3, 4]);
    source.unmap();
    const x = device.createBuffer({
      size: 8,
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
    });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(source, 0, x, 0, 8);
    device.queue.submit([encoder.finish()]);
    expect(await wordsOf(device, x)).toEqual([3, 4]);
  });
});

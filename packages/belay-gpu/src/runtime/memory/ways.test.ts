/** Every path of bytes into protected memory and out of it, with a bit flipped on the way. */
import { expect, it } from "vitest";
import { encodeDispatch } from "../../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import type { Policy } from "../context/policy.ts";
import { harden } from "../harden.ts";
import type { HardenedDevice } from "../hardenedDevice.ts";

const { sharedDevice } = testDevices();

interface Tools {
  readonly device: HardenedDevice;
  make(label: string, usage: number, words: readonly number[]): GPUBuffer;
  encode(encode: (encoder: GPUCommandEncoder) => void): void;
  read(buffer: GPUBuffer): Promise<number[]>;
}

/** Runs a program on a new device, and returns the buffers in which errors were corrected. */
async function corrections(policy: Policy, program: (tools: Tools) => Promise<void>): Promise<string[]> {
  const native = await sharedDevice();
  const device = await harden(native, { redundancy: "none", injectFaults: true, ...policy });
  const found: string[] = [];
  device.belay.addEventListener("corrected", ({ detail }) =>
    found.push(...detail.errors.map(({ buffer }) => buffer)),
  );
  const encode: Tools["encode"] = (record) => {
    const encoder = device.createCommandEncoder();
    record(encoder);
    device.queue.submit([encoder.finish()]);
  };
  const { COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  await program({
    device,
    encode,
    make: (label, usage, words) => {
      const buffer = device.createBuffer({
        label,
        size: 4 * words.length,
        usage: usage | COPY_SRC | COPY_DST,
      });
      device.queue.writeBuffer(buffer, 0, Uint32Array.from(words));
      return buffer;
    },
    read: async (buffer) => {
      const staging = device.createBuffer({
        label: "staging",
        size: buffer.size,
        usage: MAP_READ | COPY_DST,
      });
      encode((encoder) => encoder.copyBufferToBuffer(buffer, staging));
      await staging.mapAsync(GPUMapMode.READ);
      return [...new Uint32Array(staging.getMappedRange())];
    },
  });
  const { memoryFaults } = await device.belay.report();
  expect(memoryFaults).toEqual([]);
  device.destroy();
  return [...new Set(found)];
}

const { STORAGE, UNIFORM, INDIRECT, VERTEX, INDEX, QUERY_RESOLVE } = {
  STORAGE: 0x80,
  UNIFORM: 0x40,
  INDIRECT: 0x100,
  VERTEX: 0x20,
  INDEX: 0x10,
  QUERY_RESOLVE: 0x200,
};
const counting = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

const SUM = `
struct Parameters { factor: u32 }
@group(0) @binding(0) var<uniform> parameters: Parameters;
@group(0) @binding(1) var<storage, read> a: array<u32>;
@group(0) @binding(2) var<storage, read> b: array<u32>;
@group(0) @binding(3) var<storage, read_write> sums: array<u32>;
@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&sums)) { sums[id.x] = parameters.factor * a[id.x % arrayLength(&a)] + b[id.x]; }
}`;

for (const memory of ["secded32", "secded128"] as const) {
  it(`corrects bindings at dynamic offsets, two of one buffer, in an explicit layout, ${memory}`, async () => {
    const found = await corrections({ memory }, async ({ device, make, encode, read }) => {
      const visibility = GPUShaderStage.COMPUTE;
      const bindGroupLayout = device.createBindGroupLayout({
        entries: [
          { binding: 0, visibility, buffer: { hasDynamicOffset: true, minBindingSize: 4 } },
          { binding: 1, visibility, buffer: { type: "read-only-storage", minBindingSize: 4 } },
          { binding: 2, visibility, buffer: { type: "read-only-storage", hasDynamicOffset: true } },
          { binding: 3, visibility, buffer: { type: "storage" } },
        ],
      });
      const layout = device.createPipelineLayout({ bindGroupLayouts: [bindGroupLayout] });
      const module = device.createShaderModule({ code: SUM });
      const pipeline = device.createComputePipeline({ layout, compute: { module } });
      const factors = make("factors", UNIFORM, counting(65));
      const input = make("input", STORAGE, counting(96));
      const sums = make("sums", STORAGE, new Array(9).fill(0));
      const group = device.createBindGroup({
        layout: bindGroupLayout,
        entries: [
          { binding: 0, resource: { buffer: factors, size: 4 } },
          { binding: 1, resource: { buffer: input, size: 12 } },
          { binding: 2, resource: { buffer: input, size: 40 } },
          { binding: 3, resource: { buffer: sums } },
        ],
      });
      device.belay.flip(factors, 256, 1 << 4);
      device.belay.flip(input, 264, 1 << 30);
      encode((encoder) => {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group, [256, 256]);
        pass.dispatchWorkgroups(3);
        pass.end();
      });
      expect(await read(sums)).toEqual(counting(9).map((n) => 65 * (((n - 1) % 3) + 1) + 64 + n));
    });
    expect(found.sort()).toEqual(["factors", "input"]);
  });
}

it("corrects indirect dispatches, and passes that were recorded before the arena grew", async () => {
  const found = await corrections({ memory: "secded64" }, async ({ device, make, read }) => {
    const module = device.createShaderModule({ code: SUM });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const [factor, a] = [make("factor", UNIFORM, [3]), make("a", STORAGE, counting(8))];
    const sums = make("sums", STORAGE, new Array(8).fill(0));
    const groups = make("groups", INDIRECT, [2, 1, 1]);
    const entries = [factor, a, a, sums].map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    const record = (encoder: GPUCommandEncoder, between = () => {}) => {
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(1);
      between();
      pass.dispatchWorkgroupsIndirect(groups, 0);
      pass.end();
    };
    const [early, late] = [device.createCommandEncoder(), device.createCommandEncoder()];
    record(early);
    const recorded = early.finish();
    let large: GPUBuffer | undefined;
    record(late, () => {
      large = device.createBuffer({
        label: "large",
        size: 1 << 20,
        usage: STORAGE | GPUBufferUsage.COPY_SRC,
      });
    });
    device.belay.flip(groups, 0, 4);
    device.belay.flip(a, 8, 1);
    device.queue.submit([recorded]);
    device.belay.flip(sums, 28, 1 << 9);
    device.queue.submit([late.finish()]);
    expect(await read(sums)).toEqual(counting(8).map((n) => 4 * n));
    device.belay.flip(sums, 0, 1 << 9);
    expect(await read(sums)).toEqual(counting(8).map((n) => 4 * n));
    expect((await read(large!)).every((word) => word === 0)).toBe(true);
  });
  expect(found.sort()).toEqual(["a", "groups", "sums"]);
});

it("corrects textures, query sets, and buffers that render passes read and write", async () => {
  const found = await corrections({ memory: "secded128" }, async ({ device, make, encode, read }) => {
    const { COPY_SRC, COPY_DST, RENDER_ATTACHMENT } = GPUTextureUsage;
    const usage = COPY_SRC | COPY_DST | RENDER_ATTACHMENT;
    const texture = device.createTexture({ size: [4, 2], format: "r32uint", usage });
    const texels = make("texels", STORAGE, counting(72));
    device.belay.flip(texels, 260, 1 << 3);
    const back = make("back", STORAGE, new Array(80).fill(9));
    encode((encoder) => {
      encoder.copyBufferToTexture({ buffer: texels, bytesPerRow: 256 }, { texture }, [4, 2]);
      encoder.copyTextureToBuffer({ texture }, { buffer: back, offset: 16, bytesPerRow: 256 }, [4, 2]);
    });
    device.belay.flip(back, 20, 1 << 3);
    const nines = (count: number) => new Array<number>(count).fill(9);
    expect(await read(back)).toEqual([...nines(4), 1, 2, 3, 4, ...nines(60), 65, 66, 67, 68, ...nines(8)]);

    const querySet = device.createQuerySet({ type: "occlusion", count: 2 });
    const counts = make("counts", QUERY_RESOLVE, nines(8));
    encode((encoder) => encoder.resolveQuerySet(querySet, 0, 2, counts, 0));
    device.belay.flip(counts, 4, 1);
    expect(await read(counts)).toEqual([0, 0, 0, 0, 9, 9, 9, 9]);

    const module = device.createShaderModule({
      code: `
@group(0) @binding(0) var<storage, read_write> drawn: array<u32>;
@vertex fn corner(@location(0) at: u32) -> @builtin(position) vec4f {
  return vec4f(f32(at & 1u) * 4.0 - 1.0, f32(at >> 1u) * 4.0 - 1.0, 0.0, 1.0);
}
@fragment fn paint(@builtin(position) at: vec4f) -> @location(0) u32 {
  drawn[u32(at.x)] = u32(at.x) + 5u;
  return 7u;
}`,
    });
    const pipeline = device.createRenderPipeline({
      layout: "auto",
      vertex: {
        module,
        buffers: [{ arrayStride: 4, attributes: [{ shaderLocation: 0, offset: 0, format: "uint32" }] }],
      },
      fragment: { module, targets: [{ format: "r32uint" }] },
    });
    const corners = make("corners", VERTEX, [0, 1, 2]);
    const order = make("order", INDEX, [0, 1, 2]);
    const drawn = make("drawn", STORAGE, nines(5));
    const entries = [{ binding: 0, resource: { buffer: drawn } }];
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    device.belay.flip(corners, 4, 1 << 7);
    device.belay.flip(order, 4, 1 << 1);
    device.belay.flip(drawn, 16, 1 << 20);
    encode((encoder) => {
      const view = texture.createView();
      const colorAttachments = [{ view, loadOp: "clear", storeOp: "store" } as const];
      const pass = encoder.beginRenderPass({ colorAttachments });
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.setVertexBuffer(0, corners);
      pass.setIndexBuffer(order, "uint32");
      pass.drawIndexed(3);
      pass.end();
      encoder.copyTextureToBuffer({ texture }, { buffer: back, bytesPerRow: 256 }, [4, 2]);
    });
    device.belay.flip(drawn, 0, 1);
    expect(await read(drawn)).toEqual([5, 6, 7, 8, 9]);
    expect((await read(back)).slice(0, 4)).toEqual([7, 7, 7, 7]);
  });
  expect(found.sort()).toEqual(["back", "corners", "counts", "drawn", "order", "texels"]);
});

it("corrects kernels whose layouts have no room for check words", async () => {
  const found = await corrections({ memory: "secded32", redundancy: "intra+lds" }, async (tools) => {
    const { device, make, encode, read } = tools;
    const count = device.limits.maxStorageBuffersPerShaderStage - 1;
    const points = Array.from({ length: count }, (_, binding) => binding);
    const layoutOf = device.createBindGroupLayout({
      entries: points.map((binding) => ({
        binding,
        visibility: GPUShaderStage.COMPUTE,
        buffer: { type: "storage" },
      })),
    });
    const layout = device.createPipelineLayout({ bindGroupLayouts: [layoutOf] });
    const code = `
@group(0) @binding(0) var<storage, read_write> sums: array<u32>;
@group(0) @binding(1) var<storage, read_write> input: array<u32>;
@compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) { sums[i] += input[i]; }`;
    const compute = { module: device.createShaderModule({ code }) };
    const pipeline = device.createComputePipeline({ layout, compute });
    const buffers = points.map((i) => make(`b${i}`, STORAGE, counting(4)));
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = device.createBindGroup({ layout: layoutOf, entries });
    device.belay.flip(buffers[1]!, 8, 1 << 11);
    encode((encoder) => {
      encodeDispatch(encoder, pipeline, group, 1);
    });
    device.belay.flip(buffers[0]!, 0, 1);
    expect(await read(buffers[0]!)).toEqual(counting(4).map((n) => 2 * n));
    const [kernel] = (await device.belay.report()).kernels;
    expect(kernel).toMatchObject({ redundancy: "intra+lds", diagnostics: [{ code: "BELAY336" }] });
  });
  expect(found.sort()).toEqual(["b0", "b1"]);
});

it("corrects parts of mapped buffers, with rejected mappings in between", async () => {
  const found = await corrections({ memory: "secded128" }, async ({ device, make, encode }) => {
    const { MAP_READ, COPY_DST } = GPUBufferUsage;
    const input = make("input", STORAGE, counting(12));
    const staging = device.createBuffer({ label: "staging", size: 48, usage: MAP_READ | COPY_DST });
    encode((encoder) => encoder.copyBufferToBuffer(input, staging));
    device.belay.flip(staging, 20, 1 << 31);
    const mapping = staging.mapAsync(GPUMapMode.READ, 8, 24);
    await expect(staging.mapAsync(GPUMapMode.READ, 0, 8)).rejects.toThrow();
    await mapping;
    const part = staging.getMappedRange(16, 8);
    expect([...new Uint32Array(part)]).toEqual([5, 6]);
    for (const [offset, size] of [
      [20, 4],
      [0, 8],
      [24, 16],
    ])
      expect(() => staging.getMappedRange(offset, size)).toThrow(DOMException);
    expect([...new Uint32Array(staging.getMappedRange(24, 8))]).toEqual([7, 8]);
    staging.unmap();
    expect(part.byteLength).toBe(0);
    device.pushErrorScope("validation");
    await expect(staging.mapAsync(GPUMapMode.READ, 0, 64)).rejects.toMatchObject({ name: "OperationError" });
    expect(await device.popErrorScope()).toBeInstanceOf(GPUValidationError);
  });
  expect(found).toEqual(["staging"]);
});

it("corrects buffers that are mapped for writing repeatedly, whole and in part", async () => {
  const found = await corrections({ memory: "secded128" }, async ({ device, make, encode, read }) => {
    const { MAP_WRITE, COPY_SRC } = GPUBufferUsage;
    const upload = device.createBuffer({ label: "upload", size: 48, usage: MAP_WRITE | COPY_SRC });
    await upload.mapAsync(GPUMapMode.WRITE);
    const whole = upload.getMappedRange();
    new Uint32Array(whole).set(counting(12));
    upload.unmap();
    expect(whole.byteLength).toBe(0);
    await upload.mapAsync(GPUMapMode.WRITE, 16, 8);
    const part = new Uint32Array(upload.getMappedRange(16, 8));
    expect([...part]).toEqual([5, 6]);
    part[1] = 50;
    device.belay.flip(upload, 20, 1 << 9);
    upload.unmap();
    await upload.mapAsync(GPUMapMode.WRITE);
    const expected = counting(12);
    expected[5] = 50;
    expect([...new Uint32Array(upload.getMappedRange())]).toEqual([...expected]);
    device.belay.flip(upload, 8, 1 << 3);
    upload.unmap();
    const output = make("output", STORAGE, new Array<number>(12).fill(0));
    encode((encoder) => encoder.copyBufferToBuffer(upload, output));
    expect([...(await read(output))]).toEqual([...expected]);
  });
  // The check words of whole granules are copied with them.
  expect(found).toEqual(["output"]);
});

/**
 * A hardened device reports each mistake of a program like a plain device, with the same text and
 * in the same way.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { everything } from "../../../../test/support/sample.ts";
import { harden } from "./harden.ts";
import { flags } from "./webgpu/nativeObjects.ts";

const { newDevice } = testDevices();

const CODE = `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(4) fn fill(@builtin(local_invocation_index) i: u32) { data[i] = i + 7; }
@vertex fn place(@location(0) x: f32) -> @builtin(position) vec4f { return vec4f(x); }
@vertex fn placeAtZero() -> @builtin(position) vec4f { return vec4f(); }
@fragment fn paint() -> @location(0) vec4f { return vec4f(); }`;

/** The errors of a device for one mistake of a program. */
interface Said {
  /** The error of a scope around the call. */
  readonly scoped: string | undefined;
  /** All errors without an open scope. */
  readonly uncaptured: readonly string[];
  /** The error that the call throws, or that its promise is rejected with. */
  readonly thrown: string | undefined;
}

type Mistake = (device: GPUDevice) => unknown;

// The globals of WebGPU exist only after the first device.
const MAP_READ = flags.bufferMapRead;
const MAP_WRITE = flags.bufferMapWrite;
const COPY_SRC = flags.bufferCopySrc;
const COPY_DST = flags.bufferCopyDst;
const INDEX = flags.bufferIndex;
const VERTEX = flags.bufferVertex;
const UNIFORM = flags.bufferUniform;
const STORAGE = flags.bufferStorage;
const INDIRECT = flags.bufferIndirect;
const QUERY_RESOLVE = flags.bufferQueryResolve;
const READ = flags.mapRead;
const WRITE = flags.mapWrite;
const T = {
  COPY_SRC: flags.textureCopySrc,
  COPY_DST: flags.textureCopyDst,
  TEXTURE_BINDING: flags.textureBinding,
  STORAGE_BINDING: flags.textureStorage,
  RENDER_ATTACHMENT: flags.renderAttachment,
};

/** Encodes commands with one mistake, and submits them. */
const encoding =
  (encode: (device: GPUDevice, encoder: GPUCommandEncoder) => void): Mistake =>
  (device) => {
    const encoder = device.createCommandEncoder();
    encode(device, encoder);
    encoder.finish();
  };

/** A size that is no whole number of granules of any code. */
const SIZE = 36;

const bufferOf = (device: GPUDevice, usage: number, label: string | undefined = "mine") =>
  device.createBuffer({ size: SIZE, usage, ...(label && { label }) });

const textureOf = (device: GPUDevice, usage: number, label?: string) =>
  device.createTexture({ size: [5, 3], format: "rgba8unorm", usage, ...(label && { label }) });

/** Binds a range of a buffer, or all of it, to a layout of one buffer. */
const binding =
  (
    type: GPUBufferBindingType,
    usage: number,
    range: Omit<GPUBufferBinding, "buffer">,
    more: GPUBufferBindingLayout = {},
  ): Mistake =>
  (device) => {
    const entry = { binding: 0, visibility: flags.shaderStageCompute, buffer: { type, ...more } };
    const layout = device.createBindGroupLayout({ label: "one", entries: [entry] });
    const resource = { buffer: bufferOf(device, usage), ...range };
    device.createBindGroup({ label: "bound", layout, entries: [{ binding: 0, resource }] });
  };

/** Sets a bind group of a storage buffer with dynamic offsets, and runs a kernel. */
const settingOffsets = (offsets: number[], size = 16, withDispatch = false): Mistake =>
  encoding((device, encoder) => {
    const entry = {
      binding: 0,
      visibility: flags.shaderStageCompute,
      buffer: { type: "storage" as const, hasDynamicOffset: true },
    };
    const layout = device.createBindGroupLayout({ entries: [entry] });
    const buffer = device.createBuffer({ label: "mine", size: 532, usage: STORAGE });
    const entries = [{ binding: 0, resource: { buffer, size } }];
    const pass = encoder.beginComputePass();
    if (withDispatch) {
      const compute = { module: device.createShaderModule({ code: CODE }), entryPoint: "fill" };
      const layouts = device.createPipelineLayout({ bindGroupLayouts: [layout] });
      pass.setPipeline(device.createComputePipeline({ layout: layouts, compute }));
    }
    pass.setBindGroup(0, device.createBindGroup({ layout, entries }), offsets);
    if (withDispatch) pass.dispatchWorkgroups(1);
    pass.end();
  });

/** Draws with the state that a function sets. */
const drawing = (set: (device: GPUDevice, pass: GPURenderPassEncoder) => void): Mistake =>
  encoding((device, encoder) => {
    const view = textureOf(device, GPUTextureUsage.RENDER_ATTACHMENT).createView();
    const pass = encoder.beginRenderPass({
      colorAttachments: [{ view, loadOp: "clear", storeOp: "store" }],
    });
    set(device, pass);
    pass.end();
  });

/** Dispatches a kernel with a bound buffer, and with arguments in another buffer. */
const dispatching = (argumentUsage: number, offset: number, boundUsage = STORAGE, size = SIZE): Mistake =>
  encoding((device, encoder) => {
    const compute = { module: device.createShaderModule({ code: CODE }), entryPoint: "fill" };
    const pipeline = device.createComputePipeline({ layout: "auto", compute });
    const buffer = device.createBuffer({ label: "bound", size, usage: boundUsage });
    const layout = pipeline.getBindGroupLayout(0);
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] }));
    pass.dispatchWorkgroupsIndirect(bufferOf(device, argumentUsage), offset);
    pass.end();
  });

const mapping =
  (usage: number, mode: number, offset?: number, size?: number, label = "mine"): Mistake =>
  (device) =>
    bufferOf(device, usage, label).mapAsync(mode, offset, size);

/** Requests a range of a mapped buffer. */
const asking =
  (usage: number, offset?: number, size?: number, mapped: readonly [number?, number?] = []): Mistake =>
  async (device) => {
    const buffer = bufferOf(device, usage);
    await buffer.mapAsync(usage & MAP_READ ? READ : WRITE, ...mapped);
    buffer.getMappedRange(offset, size);
  };

const COPIED = COPY_SRC | COPY_DST;
const ALL = COPIED | STORAGE | UNIFORM | VERTEX | INDEX | INDIRECT;

const copying = (
  [from, fromOffset]: readonly [number, number],
  [to, toOffset]: readonly [number, number],
  size?: number,
): Mistake =>
  encoding((device, encoder) => {
    const [source, target] = [bufferOf(device, from, "source"), bufferOf(device, to, "target")];
    encoder.copyBufferToBuffer(source, fromOffset, target, toOffset, size as number);
  });

const clearing = (usage: number, offset?: number, size?: number, label?: string): Mistake =>
  encoding((device, encoder) => encoder.clearBuffer(bufferOf(device, usage, label), offset, size));

const writing =
  (usage: number, offset: number, bytes: number, label?: string): Mistake =>
  (device) =>
    device.queue.writeBuffer(bufferOf(device, usage, label), offset, new Uint8Array(bytes));

const creating =
  (descriptor: GPUBufferDescriptor): Mistake =>
  (device) =>
    device.createBuffer(descriptor);

const creatingTexture =
  (descriptor: Partial<GPUTextureDescriptor>): Mistake =>
  (device) =>
    device.createTexture({ size: [4, 4], format: "rgba8unorm", usage: 4, ...descriptor });

const resolving = (usage: number, offset: number, count = 1): Mistake =>
  encoding((device, encoder) => {
    const querySet = device.createQuerySet({ label: "asked", type: "occlusion", count: 8 });
    encoder.resolveQuerySet(
      querySet,
      0,
      count,
      device.createBuffer({ label: "mine", size: 260, usage }),
      offset,
    );
  });

const toTexture = (bufferUsage: number, textureUsage: number, from: object, size: number[]): Mistake =>
  encoding((device, encoder) =>
    encoder.copyBufferToTexture(
      { buffer: bufferOf(device, bufferUsage), ...from },
      { texture: textureOf(device, textureUsage, "picture") },
      size,
    ),
  );

const fromTexture = (bufferUsage: number, textureUsage: number, to: object, size: number[]): Mistake =>
  encoding((device, encoder) =>
    encoder.copyTextureToBuffer(
      { texture: textureOf(device, textureUsage, "picture") },
      { buffer: bufferOf(device, bufferUsage), ...to },
      size,
    ),
  );

const betweenTextures = (from: number, to: number, size: number[], at: number[] = [0, 0]): Mistake =>
  encoding((device, encoder) =>
    encoder.copyTextureToTexture(
      { texture: textureOf(device, from, "source") },
      { texture: textureOf(device, to), origin: at },
      size,
    ),
  );

const writingTexture =
  (usage: number, bytes: number, layout: GPUTexelCopyBufferLayout, size: number[]): Mistake =>
  (device) =>
    device.queue.writeTexture({ texture: textureOf(device, usage) }, new Uint8Array(bytes), layout, size);

const viewing =
  (usage: number, descriptor: GPUTextureViewDescriptor): Mistake =>
  (device) =>
    textureOf(device, usage, "picture").createView(descriptor);

const FILL = "fn fill(@builtin(local_invocation_index) i: u32)";
const DATA = "@group(0) @binding(0) var<storage, read_write> data: array<u32>;";

/** Creates a pipeline of a kernel. */
const creatingPipeline =
  (code: string, stage: object = {}): Mistake =>
  (device) => {
    const compute = { module: device.createShaderModule({ code: `${DATA} @compute ${code}` }), ...stage };
    device.createComputePipeline({ label: "mine", layout: "auto", compute });
  };

const mistakes: Record<string, Mistake> = {
  "createComputePipeline: of a barrier that some lanes skip": creatingPipeline(
    `@workgroup_size(8) ${FILL} { if (data[i] == 0u) { workgroupBarrier(); } data[i] = 1u; }`,
  ),
  "createComputePipeline: beside an invalid entry point": creatingPipeline(
    `@workgroup_size(8) ${FILL} { data[i] = i; }
    @compute @workgroup_size(8) fn other(@builtin(local_invocation_index) i: u32) {
      if (data[i] == 0u) { workgroupBarrier(); }
    }`,
    { entryPoint: "fill" },
  ),
  "createComputePipeline: of an unknown name": creatingPipeline(
    `@workgroup_size(8) ${FILL} { data[i] = j; }`,
  ),
  "createComputePipeline: too many invocations": creatingPipeline(
    `@workgroup_size(65, 64) ${FILL} { data[i] = i; }`,
  ),
  "createComputePipeline: without a constant": creatingPipeline(
    `@workgroup_size(width) ${FILL} { data[i] = 1u; } override width: u32;`,
  ),
  "createComputePipeline: with an unknown constant": creatingPipeline(
    `@workgroup_size(8) ${FILL} { data[i] = i; }`,
    { constants: { width: 8 } },
  ),
  "createComputePipeline: with a constant of another type": creatingPipeline(
    `@workgroup_size(8) ${FILL} { data[i] = width; } override width: u32 = 1;`,
    { constants: { width: -8.5 } },
  ),
  "createComputePipeline: of another entry point": creatingPipeline(
    `@workgroup_size(8) ${FILL} { data[i] = i; }`,
    { entryPoint: "empty" },
  ),
  "createComputePipeline: too much memory of workgroups": creatingPipeline(
    `@workgroup_size(8) ${FILL} { tile[i] = i; data[i] = tile[i]; } var<workgroup> tile: array<u32, 100000>;`,
  ),
  "createBuffer: unknown usages": creating({ size: 4, usage: 0xffff00 }),
  "createBuffer: unknown usages, with a label": creating({ label: "mine", size: 4, usage: 0x8000 | STORAGE }),
  "createBuffer: no usage": creating({ size: 4, usage: 0 }),
  "createBuffer: no usage, and too large": creating({ size: 2 ** 40, usage: 0 }),
  "createBuffer: mappable and bound": creating({ size: 20, usage: MAP_READ | STORAGE }),
  "createBuffer: mappable for both": creating({ size: 20, usage: MAP_READ | MAP_WRITE }),
  "createBuffer: mappable for reading, and a source": creating({ size: 20, usage: MAP_READ | COPY_SRC }),
  "createBuffer: mappable for writing, and a target": creating({ size: 20, usage: MAP_WRITE | COPY_DST }),
  "createBuffer: mappable, of unknown usages": creating({ size: 20, usage: MAP_READ | 0x4000 }),
  "createBuffer: too large": creating({ size: 2 ** 40, usage: STORAGE }),
  "createBuffer: too large, mappable": creating({ size: 2 ** 40, usage: MAP_READ | COPY_DST }),
  "createBuffer: too large by a word": (device) =>
    device.createBuffer({ size: device.limits.maxBufferSize + 4, usage: VERTEX }),
  "createBuffer: mapped, of odd size": creating({ size: 6, usage: STORAGE, mappedAtCreation: true }),
  "createBuffer: mapped, of unknown usages": creating({ size: 8, usage: 0x8000, mappedAtCreation: true }),
  "createBuffer: negative size": creating({ size: -4, usage: STORAGE }),
  "createBuffer: fraction of a byte": creating({ size: 4.5, usage: 0x8000 }),
  "createBuffer: no size": creating({ usage: STORAGE } as GPUBufferDescriptor),
  "createBuffer: no usage given": creating({ size: 4 } as GPUBufferDescriptor),
  "createTexture: unknown usages": creatingTexture({ usage: 0x8000 }),
  "createTexture: unknown usages, with a label": creatingTexture({ label: "picture", usage: 0x8004 }),
  "createTexture: no usage": creatingTexture({ usage: 0 }),
  "createTexture: too wide": creatingTexture({ size: [2 ** 20, 1] }),
  "createTexture: empty": creatingTexture({ size: [0, 1] }),
  "createTexture: too many levels": creatingTexture({ mipLevelCount: 9 }),
  "createTexture: samples that are not drawn": creatingTexture({ sampleCount: 4 }),
  "createTexture: samples of storage": creatingTexture({ sampleCount: 4, usage: T.STORAGE_BINDING }),
  "createTexture: format without storage": creatingTexture({
    format: "bgra8unorm-srgb",
    usage: T.STORAGE_BINDING,
  }),
  "createTexture: format that is not drawn": creatingTexture({
    format: "rgb9e5ufloat",
    usage: T.RENDER_ATTACHMENT,
  }),
  "createTexture: one dimension, drawn": creatingTexture({
    dimension: "1d",
    size: [4],
    usage: T.RENDER_ATTACHMENT,
  }),
  "createTexture: transient, and copied": creatingTexture({ usage: 0x20 | T.COPY_SRC }),
  "createTexture: format of a missing feature": creatingTexture({ format: "astc-4x4-unorm" }),
  "createTexture: view format of another kind": creatingTexture({ viewFormats: ["r32float"] }),
  "createTexture: cut blocks": creatingTexture({ format: "bc1-rgba-unorm", size: [5, 5] }),
  "createView: undeclared usages": viewing(T.TEXTURE_BINDING, { usage: T.COPY_SRC | T.STORAGE_BINDING }),
  "createView: level beyond the last": viewing(T.TEXTURE_BINDING, { baseMipLevel: 3 }),
  "createView: other format": viewing(T.TEXTURE_BINDING, { format: "r32float" }),
  "createView: other dimension": viewing(T.TEXTURE_BINDING, { dimension: "cube" }),
  "createView: other aspect": viewing(T.TEXTURE_BINDING, { aspect: "depth-only" }),
  "createBindGroup: storage buffer as uniform": binding("uniform", STORAGE, {}),
  "createBindGroup: uniform buffer as storage": binding("storage", UNIFORM, {}),
  "createBindGroup: copied buffer as storage": binding("storage", COPIED, {}),
  "createBindGroup: mappable buffer": binding("storage", MAP_READ | COPY_DST, {}),
  "createBindGroup: range past the end": binding("storage", STORAGE, { size: 48 }),
  "createBindGroup: range past the end, in the last granule": binding("storage", STORAGE, { size: 40 }),
  "createBindGroup: offset past the end": binding("storage", STORAGE, { offset: 256 }),
  "createBindGroup: offset past the end, with a size": binding("storage", STORAGE, { offset: 256, size: 4 }),
  "createBindGroup: offset that is not aligned": binding("storage", STORAGE, { offset: 4 }),
  "createBindGroup: size that is not aligned": binding("storage", STORAGE, { size: 6 }),
  "createBindGroup: no bytes": binding("storage", STORAGE, { size: 0 }),
  "createBindGroup: all the rest, which is nothing": binding("storage", STORAGE, { offset: SIZE }),
  "createBindGroup: uniform past the end": binding("uniform", UNIFORM, { size: 48 }),
  "createBindGroup: fewer bytes than the layout asks for": binding(
    "storage",
    STORAGE,
    {},
    { minBindingSize: 40 },
  ),
  "createBindGroup: fewer bytes, by its size": binding(
    "storage",
    STORAGE,
    { size: 16 },
    { minBindingSize: 20 },
  ),
  "createBindGroup: fewer bytes, of all the buffer's usages": binding(
    "uniform",
    ALL,
    {},
    { minBindingSize: 48 },
  ),
  "createBindGroup: texture of the wrong usage": (device) => {
    const storageTexture = { format: "rgba8unorm" as const };
    const entry = { binding: 0, visibility: flags.shaderStageCompute, storageTexture };
    const layout = device.createBindGroupLayout({ entries: [entry] });
    const resource = textureOf(device, T.TEXTURE_BINDING, "picture").createView();
    device.createBindGroup({ layout, entries: [{ binding: 0, resource }] });
  },
  "createBindGroup: wrong binding": (device) => {
    const layout = device.createBindGroupLayout({ entries: [] });
    const entries = [{ binding: 3, resource: { buffer: bufferOf(device, STORAGE) } }];
    device.createBindGroup({ layout, entries });
  },
  "createBindGroup: buffer for a texture": (device) => {
    const entry = { binding: 0, visibility: flags.shaderStageCompute, texture: {} };
    const layout = device.createBindGroupLayout({ entries: [entry] });
    const entries = [{ binding: 0, resource: { buffer: bufferOf(device, STORAGE) } }];
    device.createBindGroup({ layout, entries });
  },
  "createBindGroup: fewer bytes than a kernel asks for": (device) => {
    const code = CODE.replace("array<u32>", "array<u32, 10>");
    const compute = { module: device.createShaderModule({ code }), entryPoint: "fill" };
    const pipeline = device.createComputePipeline({ layout: "auto", compute });
    const entries = [{ binding: 0, resource: { buffer: bufferOf(device, STORAGE) } }];
    device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  },
  "setBindGroup: offset past the end": settingOffsets([1024]),
  "setBindGroup: offset in the last granule": settingOffsets([512], 32),
  "setBindGroup: offset past the end, with a dispatch": settingOffsets([768], 16, true),
  "setBindGroup: offset that is not aligned": settingOffsets([4]),
  "setBindGroup: no offset": settingOffsets([]),
  "setBindGroup: too many offsets": settingOffsets([0, 0]),
  "copyBufferToBuffer: source that is none": copying([STORAGE, 0], [COPY_DST, 0], 16),
  "copyBufferToBuffer: target that is none": copying([COPY_SRC, 0], [STORAGE, 0], 16),
  "copyBufferToBuffer: past the end of the source": copying([COPIED, 0], [COPIED, 0], 48),
  "copyBufferToBuffer: past the end, in the last granule": copying([COPIED, 32], [COPIED, 0], 8),
  "copyBufferToBuffer: past the end of the target": copying([COPIED, 0], [COPIED, 32], 8),
  "copyBufferToBuffer: from past the end": copying([COPIED, 64], [COPIED, 0]),
  "copyBufferToBuffer: from the end": copying([COPIED, 40], [COPIED, 0], 0),
  "copyBufferToBuffer: all of it, to the middle": copying([COPIED, 0], [COPIED, 4]),
  "copyBufferToBuffer: odd size": copying([COPIED, 0], [COPIED, 0], 6),
  "copyBufferToBuffer: odd offset": copying([COPIED, 2], [COPIED, 0], 4),
  "copyBufferToBuffer: odd offset of the target": copying([COPIED, 0], [COPIED, 2], 4),
  "copyBufferToBuffer: to a mappable source": copying([COPY_SRC, 0], [MAP_WRITE | COPY_SRC, 0], 16),
  "copyBufferToBuffer: from a mappable target": copying([MAP_READ | COPY_DST, 0], [COPY_DST, 0], 16),
  "copyBufferToBuffer: past the end of a mappable target": copying([COPIED, 0], [MAP_READ | COPY_DST, 32], 8),
  "copyBufferToBuffer: past the end of a mappable source": copying(
    [MAP_WRITE | COPY_SRC, 32],
    [COPIED, 0],
    8,
  ),
  "copyBufferToBuffer: to itself": encoding((device, encoder) => {
    const buffer = bufferOf(device, COPIED);
    encoder.copyBufferToBuffer(buffer, 0, buffer, 8, 8);
  }),
  "copyBufferToBuffer: to itself, undeclared": encoding((device, encoder) => {
    const buffer = bufferOf(device, STORAGE);
    encoder.copyBufferToBuffer(buffer, 0, buffer, 8, 8);
  }),
  "clearBuffer: target that is none": clearing(STORAGE | VERTEX),
  "clearBuffer: target that is none, without a label": clearing(STORAGE, 0, 4, ""),
  "clearBuffer: past the end": clearing(COPY_DST, 0, 48),
  "clearBuffer: past the end, in the last granule": clearing(COPY_DST, 32, 8, ""),
  "clearBuffer: from past the end": clearing(COPY_DST, 64),
  "clearBuffer: odd size": clearing(COPY_DST, 0, 6),
  "clearBuffer: odd offset": clearing(COPY_DST, 2),
  "clearBuffer: past the end of a mappable one": clearing(MAP_READ | COPY_DST, 32, 16),
  "writeBuffer: target that is none": writing(STORAGE, 0, 16),
  "writeBuffer: target that is none, without a label": writing(STORAGE, 0, 16, ""),
  "writeBuffer: past the end": writing(COPY_DST, 0, 64),
  "writeBuffer: past the end, in the last granule": writing(COPY_DST, 32, 8),
  "writeBuffer: from past the end": writing(COPY_DST, 64, 4),
  "writeBuffer: nothing, from past the end": writing(COPY_DST, 64, 0),
  "writeBuffer: nothing, from within the last granule": writing(COPY_DST, 40, 0),
  "writeBuffer: odd offset": writing(COPY_DST, 2, 4),
  "writeBuffer: odd size": writing(COPY_DST, 0, 6),
  "writeBuffer: to a mappable one, past the end": writing(MAP_READ | COPY_DST, 32, 16),
  "writeBuffer: to a mapped one": (device) => {
    const usage = COPY_DST | STORAGE;
    const buffer = device.createBuffer({ size: SIZE, usage, mappedAtCreation: true });
    device.queue.writeBuffer(buffer, 0, new Uint32Array(4));
  },
  "writeBuffer: to a destroyed one": (device) => {
    const buffer = bufferOf(device, COPY_DST);
    buffer.destroy();
    device.queue.writeBuffer(buffer, 0, new Uint32Array(4));
  },
  "writeBuffer: to a refused one": (device) => {
    device.pushErrorScope("validation");
    const buffer = device.createBuffer({ size: 4, usage: 0x8000 | COPY_DST });
    void device.popErrorScope();
    device.queue.writeBuffer(buffer, 0, new Uint32Array(1));
  },
  "submit: a mapped buffer": (device) => {
    const encoder = device.createCommandEncoder();
    encoder.clearBuffer(device.createBuffer({ size: SIZE, usage: COPY_DST, mappedAtCreation: true }));
    device.queue.submit([encoder.finish()]);
  },
  "submit: a destroyed buffer": (device) => {
    const encoder = device.createCommandEncoder();
    const buffer = bufferOf(device, COPY_DST);
    encoder.clearBuffer(buffer);
    const commands = encoder.finish();
    buffer.destroy();
    device.queue.submit([commands]);
  },
  "resolveQuerySet: target that is none": resolving(STORAGE | COPIED, 0),
  "resolveQuerySet: past the end": resolving(QUERY_RESOLVE, 256, 8),
  "resolveQuerySet: in the last granule": resolving(QUERY_RESOLVE, 256),
  "resolveQuerySet: offset that is not aligned": resolving(QUERY_RESOLVE, 8),
  "resolveQuerySet: too many": resolving(QUERY_RESOLVE, 0, 9),
  "copyBufferToTexture: source that is none": toTexture(STORAGE, T.COPY_DST, {}, [5, 1]),
  "copyBufferToTexture: target that is none": toTexture(COPY_SRC, T.TEXTURE_BINDING, {}, [5, 1]),
  "copyBufferToTexture: past the end": toTexture(COPY_SRC, T.COPY_DST, { bytesPerRow: 256 }, [5, 3]),
  "copyBufferToTexture: past the end, in the last granule": toTexture(
    COPY_SRC,
    T.COPY_DST,
    { offset: 20 },
    [5, 1],
  ),
  "copyBufferToTexture: from a mappable one, past the end": toTexture(
    MAP_WRITE | COPY_SRC,
    T.COPY_DST,
    { offset: 20 },
    [5],
  ),
  "copyBufferToTexture: odd offset": toTexture(COPY_SRC, T.COPY_DST, { offset: 2 }, [1, 1]),
  "copyBufferToTexture: no rows": toTexture(COPY_SRC, T.COPY_DST, {}, [1, 2]),
  "copyBufferToTexture: past the edge": toTexture(COPY_SRC, T.COPY_DST, {}, [6, 1]),
  "copyTextureToBuffer: source that is none": fromTexture(COPY_DST, T.TEXTURE_BINDING, {}, [5, 1]),
  "copyTextureToBuffer: target that is none": fromTexture(STORAGE, T.COPY_SRC, {}, [5, 1]),
  "copyTextureToBuffer: past the end": fromTexture(COPY_DST, T.COPY_SRC, { bytesPerRow: 256 }, [5, 3]),
  "copyTextureToBuffer: past the end, in the last granule": fromTexture(
    COPY_DST,
    T.COPY_SRC,
    { offset: 20 },
    [5, 1],
  ),
  "copyTextureToBuffer: to a mappable one, past the end": fromTexture(
    MAP_READ | COPY_DST,
    T.COPY_SRC,
    { offset: 20 },
    [5],
  ),
  "copyTextureToBuffer: to the source of copies": fromTexture(MAP_WRITE | COPY_SRC, T.COPY_SRC, {}, [5]),
  "copyTextureToTexture: source that is none": betweenTextures(T.TEXTURE_BINDING, T.COPY_DST, [2, 2]),
  "copyTextureToTexture: target that is none": betweenTextures(T.COPY_SRC, T.TEXTURE_BINDING, [2, 2]),
  "copyTextureToTexture: past the edge": betweenTextures(T.COPY_SRC, T.COPY_DST, [5, 3], [1, 0]),
  "writeTexture: target that is none": writingTexture(T.TEXTURE_BINDING, 60, { bytesPerRow: 20 }, [5, 3]),
  "writeTexture: too few data": writingTexture(T.COPY_DST, 16, { bytesPerRow: 20 }, [5, 3]),
  "writeTexture: past the edge": writingTexture(T.COPY_DST, 600, { bytesPerRow: 24 }, [6, 3]),
  "mapAsync: none that can be mapped": mapping(STORAGE, READ),
  "mapAsync: none that can be mapped, without a label": mapping(COPY_DST, WRITE, 0, 4, ""),
  "mapAsync: the other mode": mapping(MAP_READ | COPY_DST, WRITE),
  "mapAsync: the other mode, for writing": mapping(MAP_WRITE | COPY_SRC, READ),
  "mapAsync: no mode": mapping(MAP_READ | COPY_DST, 0),
  "mapAsync: both modes": mapping(MAP_READ | COPY_DST, 3),
  "mapAsync: unknown mode": mapping(MAP_READ | COPY_DST, 8),
  "mapAsync: past the end": mapping(MAP_READ | COPY_DST, READ, 0, 64),
  "mapAsync: past the end, in the last granule": mapping(MAP_READ | COPY_DST, READ, 32, 8),
  "mapAsync: past the end, among the check words": mapping(MAP_WRITE | COPY_SRC, WRITE, 48, 4),
  "mapAsync: from past the end": mapping(MAP_READ | COPY_DST, READ, 64),
  "mapAsync: from past the end, without a label": mapping(MAP_READ, READ, 40, 0, ""),
  "mapAsync: offset that is not aligned": mapping(MAP_READ | COPY_DST, READ, 4),
  "mapAsync: size that is not aligned": mapping(MAP_READ | COPY_DST, READ, 0, 6),
  "mapAsync: offset that is not aligned, past the end": mapping(MAP_WRITE | COPY_SRC, WRITE, 44),
  "mapAsync: negative offset": mapping(MAP_READ | COPY_DST, READ, -8),
  "mapAsync: fraction": mapping(MAP_READ | COPY_DST, READ, 0.5, 4.5),
  "mapAsync: twice": (device) => {
    const buffer = bufferOf(device, MAP_READ | COPY_DST);
    void buffer.mapAsync(READ).catch(() => {});
    return buffer.mapAsync(READ);
  },
  "mapAsync: mapped": async (device) => {
    const buffer = bufferOf(device, MAP_READ | COPY_DST);
    await buffer.mapAsync(READ);
    return buffer.mapAsync(READ, 0, 48);
  },
  "mapAsync: destroyed": (device) => {
    const buffer = bufferOf(device, MAP_READ | COPY_DST);
    buffer.destroy();
    return buffer.mapAsync(READ);
  },
  "mapAsync: unmapped before": (device) => {
    const buffer = bufferOf(device, MAP_READ | COPY_DST);
    const mapped = buffer.mapAsync(READ);
    buffer.unmap();
    return mapped;
  },
  "getMappedRange: not mapped": (device) => bufferOf(device, MAP_READ | COPY_DST).getMappedRange(),
  "getMappedRange: not mappable": (device) => bufferOf(device, STORAGE).getMappedRange(0, 4),
  "getMappedRange: past the end": asking(MAP_READ | COPY_DST, 0, 64),
  "getMappedRange: past the end, in the last granule": asking(MAP_READ | COPY_DST, 32, 8),
  "getMappedRange: among the check words": asking(MAP_WRITE | COPY_SRC, 48, 4),
  "getMappedRange: from past the end": asking(MAP_WRITE | COPY_SRC, 64),
  "getMappedRange: offset that is not aligned": asking(MAP_READ | COPY_DST, 4),
  "getMappedRange: size that is not aligned": asking(MAP_READ | COPY_DST, 0, 6),
  "getMappedRange: outside of what is mapped": asking(MAP_READ | COPY_DST, 0, 8, [8, 8]),
  "getMappedRange: further than what is mapped": asking(MAP_READ | COPY_DST, 8, undefined, [8, 8]),
  "getMappedRange: negative offset": asking(MAP_READ | COPY_DST, -8, 8),
  "getMappedRange: pending": (device) => {
    const buffer = bufferOf(device, MAP_READ | COPY_DST);
    buffer.mapAsync(READ).catch(() => {});
    try {
      buffer.getMappedRange();
    } finally {
      buffer.destroy();
    }
  },
  "getMappedRange: overlapping": async (device) => {
    const buffer = bufferOf(device, MAP_READ | COPY_DST);
    await buffer.mapAsync(READ);
    buffer.getMappedRange(0, 16);
    buffer.getMappedRange(8, 16);
  },
  "getMappedRange: past the end, mapped as it is made": (device) =>
    device.createBuffer({ size: SIZE, usage: STORAGE, mappedAtCreation: true }).getMappedRange(0, 48),
  "dispatchWorkgroupsIndirect: arguments that are none": dispatching(STORAGE, 0),
  "dispatchWorkgroupsIndirect: arguments past the end": dispatching(INDIRECT, 48),
  "dispatchWorkgroupsIndirect: arguments in the last granule": dispatching(INDIRECT, 28),
  "dispatchWorkgroupsIndirect: odd offset": dispatching(INDIRECT, 2),
  "dispatchWorkgroupsIndirect: no pipeline": encoding((device, encoder) => {
    const pass = encoder.beginComputePass();
    pass.dispatchWorkgroupsIndirect(bufferOf(device, INDIRECT), 32);
    pass.end();
  }),
  "dispatchWorkgroups: no bind group": encoding((device, encoder) => {
    const compute = { module: device.createShaderModule({ code: CODE }), entryPoint: "fill" };
    const pass = encoder.beginComputePass();
    pass.setPipeline(device.createComputePipeline({ label: "filling", layout: "auto", compute }));
    pass.dispatchWorkgroups(1);
    pass.end();
  }),
  "setVertexBuffer: none of the kind": drawing((device, pass) =>
    pass.setVertexBuffer(0, bufferOf(device, STORAGE)),
  ),
  "setVertexBuffer: past the end": drawing((device, pass) =>
    pass.setVertexBuffer(0, bufferOf(device, VERTEX), 0, 40),
  ),
  "setVertexBuffer: from past the end": drawing((device, pass) =>
    pass.setVertexBuffer(0, bufferOf(device, VERTEX), 40),
  ),
  "setVertexBuffer: odd offset": drawing((device, pass) =>
    pass.setVertexBuffer(0, bufferOf(device, VERTEX), 2),
  ),
  "setIndexBuffer: none of the kind": drawing((device, pass) =>
    pass.setIndexBuffer(bufferOf(device, STORAGE | VERTEX), "uint32"),
  ),
  "setIndexBuffer: past the end": drawing((device, pass) =>
    pass.setIndexBuffer(bufferOf(device, INDEX), "uint32", 0, 40),
  ),
  "setIndexBuffer: from past the end": drawing((device, pass) =>
    pass.setIndexBuffer(bufferOf(device, INDEX), "uint16", 40),
  ),
  "drawIndirect: none of the kind": drawing((device, pass) =>
    pass.drawIndirect(bufferOf(device, STORAGE), 0),
  ),
  "drawIndirect: past the end": drawing((device, pass) => {
    setPipeline(device, pass);
    pass.drawIndirect(bufferOf(device, INDIRECT), 24);
  }),
  "drawIndexedIndirect: past the end": drawing((device, pass) => {
    setPipeline(device, pass);
    pass.setIndexBuffer(bufferOf(device, INDEX), "uint32");
    pass.drawIndexedIndirect(bufferOf(device, INDIRECT), 20);
  }),
  "drawIndexed: indices past the end": drawing((device, pass) => {
    setPipeline(device, pass);
    pass.setIndexBuffer(bufferOf(device, INDEX), "uint32");
    pass.drawIndexed(10);
  }),
  "draw: vertices past the end": drawing((device, pass) => {
    setPipeline(device, pass, true);
    pass.setVertexBuffer(0, bufferOf(device, VERTEX));
    pass.draw(10);
  }),
  "draw in a bundle: vertices past the end": (device) => {
    const bundle = device.createRenderBundleEncoder({ colorFormats: ["rgba8unorm"] });
    setPipeline(device, bundle, true);
    bundle.setVertexBuffer(0, bufferOf(device, VERTEX));
    bundle.draw(10);
    bundle.finish();
  },
  "setVertexBuffer in a bundle: past the end": (device) => {
    const bundle = device.createRenderBundleEncoder({ colorFormats: ["rgba8unorm"] });
    bundle.setVertexBuffer(0, bufferOf(device, VERTEX), 0, 40);
    bundle.finish();
  },
  "beginRenderPass: texture that is not drawn": encoding((device, encoder) => {
    const view = textureOf(device, T.TEXTURE_BINDING, "picture").createView();
    encoder.beginRenderPass({ colorAttachments: [{ view, loadOp: "clear", storeOp: "store" }] }).end();
  }),
};

/** Sets a kernel and its buffers, and encodes more commands. */
const running = (
  encode: (pass: GPUComputePassEncoder, device: GPUDevice, encoder: GPUCommandEncoder) => void,
  inputSize = 256,
): Mistake =>
  encoding((device, encoder) => {
    const code = `@group(0) @binding(0) var<storage> input: array<u32, 64>;
      @group(0) @binding(1) var<storage, read_write> output: array<u32>;
      @compute @workgroup_size(64) fn copy(@builtin(local_invocation_index) i: u32) {
        output[i] = input[i / 2];
      }`;
    const visibility = flags.shaderStageCompute;
    const types = ["read-only-storage", "storage"] as const;
    const layout = device.createBindGroupLayout({
      entries: types.map((type, binding) => ({ binding, visibility, buffer: { type } })),
    });
    const pipeline = device.createComputePipeline({
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module: device.createShaderModule({ code }) },
    });
    const entries = [inputSize, 256].map((size, binding) => {
      const buffer = device.createBuffer({ label: "bound", size, usage: STORAGE });
      return { binding, resource: { buffer } };
    });
    const pass = encoder.beginComputePass({ label: "mine" });
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, device.createBindGroup({ layout, entries }));
    encode(pass, device, encoder);
  });

/** Binds one buffer twice to a kernel. */
const bindingTwice = (layoutOf: (pipeline: GPUComputePipeline, device: GPUDevice) => GPUBindGroupLayout) =>
  encoding((device, encoder) => {
    const code = `@group(0) @binding(0) var<storage, read_write> a: array<u32>;
      @group(0) @binding(1) var<storage, read_write> b: array<u32>;
      @compute @workgroup_size(64) fn both(@builtin(local_invocation_index) i: u32) { a[i] = 1u; b[i] = 2u; }`;
    const compute = { module: device.createShaderModule({ code }) };
    const pipeline = device.createComputePipeline({ layout: "auto", compute });
    const resource = { buffer: device.createBuffer({ label: "mine", size: 64, usage: STORAGE }) };
    const entries = [0, 1].map((binding) => ({ binding, resource }));
    encodeDispatch(
      encoder,
      pipeline,
      device.createBindGroup({ layout: layoutOf(pipeline, device), entries }),
      3,
      2,
    );
  });

/** Creates a bind group for the default layout of a kernel. */
const bindingDefaults = (entriesOf: (device: GPUDevice) => GPUBindGroupEntry[]) => (device: GPUDevice) => {
  const compute = { module: device.createShaderModule({ code: CODE }), entryPoint: "fill" };
  const layout = device.createComputePipeline({ layout: "auto", compute }).getBindGroupLayout(0);
  const entries = entriesOf(device);
  device.createBindGroup({ label: "bound", layout, entries });
  // The program may change its descriptor before the device has answered.
  entries.length = 0;
};

/** Mistakes in commands to which protection adds commands or bindings, or which it changes. */
const passMistakes: Record<string, Mistake> = {
  "createBindGroup: a buffer too many for a default layout": bindingDefaults((device) =>
    [0, 1].map((binding) => ({ binding, resource: { buffer: bufferOf(device, STORAGE) } })),
  ),
  "createBindGroup: another binding of a default layout": bindingDefaults((device) => [
    { binding: 1, resource: { buffer: bufferOf(device, STORAGE) } },
  ]),
  "createBindGroup: nothing for a default layout": bindingDefaults(() => []),
  "createBindGroup: uniform buffer for a default layout": bindingDefaults((device) => [
    { binding: 0, resource: { buffer: bufferOf(device, UNIFORM) } },
  ]),
  "dispatchWorkgroups: a buffer that is too small": running((pass) => {
    pass.dispatchWorkgroups(3, 2);
    pass.end();
  }, 128),
  "dispatchWorkgroups: one buffer twice": bindingTwice((pipeline) => pipeline.getBindGroupLayout(0)),
  "dispatchWorkgroups: a bind group of another pipeline": encoding((device, encoder) => {
    const compute = { module: device.createShaderModule({ code: CODE }), entryPoint: "fill" };
    const [own, other] = ["own", "other"].map((label) =>
      device.createComputePipeline({ label, layout: "auto", compute }),
    );
    const entries = [{ binding: 0, resource: { buffer: bufferOf(device, STORAGE) } }];
    const layout = other!.getBindGroupLayout(0);
    encodeDispatch(encoder, own!, device.createBindGroup({ label: "bound", layout, entries }), 1);
  }),
  "dispatchWorkgroups: a bind group of another layout": bindingTwice((_, device) => {
    const [visibility, buffer] = [flags.shaderStageCompute, { type: "storage" as const }];
    return device.createBindGroupLayout({
      entries: [0, 1].map((binding) => ({ binding, visibility, buffer })),
    });
  }),
  "finish: a pass that has not ended": running((pass) => pass.dispatchWorkgroups(1)),
  "copyBufferToBuffer: in a pass": running((pass, device, encoder) => {
    pass.dispatchWorkgroups(1);
    encoder.copyBufferToBuffer(bufferOf(device, COPIED), 0, bufferOf(device, COPIED), 0, 16);
  }),
  "clearBuffer: in a pass": running((pass, device, encoder) => {
    pass.dispatchWorkgroups(1);
    encoder.clearBuffer(bufferOf(device, COPIED));
  }),
};
Object.assign(mistakes, passMistakes);

/** A shader that binds one buffer, in a compute or a fragment stage with a default layout. */
const bindingByDefault =
  (stage: "compute" | "fragment", space: "uniform" | "storage") =>
  (device: GPUDevice, usage: number): void => {
    const type = stage === "fragment" && space === "storage" ? "storage, read" : space;
    const access = space === "storage" && stage === "compute" ? "storage, read_write" : type;
    const code = `@group(0) @binding(0) var<${access}> data: vec4u;
      @group(0) @binding(1) var<storage, read_write> out: array<u32>;
      @compute @workgroup_size(1) fn go() { out[0] = data.x; }
      @vertex fn place() -> @builtin(position) vec4f { return vec4f(); }
      @fragment fn paint() -> @location(0) vec4f { return vec4f(data); }`;
    const module = device.createShaderModule({ code });
    const pipeline =
      stage === "compute"
        ? device.createComputePipeline({ layout: "auto", compute: { module } })
        : device.createRenderPipeline({
            layout: "auto",
            vertex: { module },
            fragment: { module, targets: [{ format: "rgba8unorm" }] },
          });
    const entries = [{ binding: 0, resource: { buffer: bufferOf(device, usage) } }];
    if (stage === "compute") entries.push({ binding: 1, resource: { buffer: bufferOf(device, STORAGE) } });
    device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  };

/** Draws, with a buffer that gives the number of vertices. */
const drawingIndirect = (isIndexed: boolean) => (device: GPUDevice, usage: number) =>
  drawing((_, pass) => {
    setPipeline(device, pass);
    if (isIndexed) pass.setIndexBuffer(bufferOf(device, INDEX), "uint32");
    pass[isIndexed ? "drawIndexedIndirect" : "drawIndirect"](bufferOf(device, usage), 0);
  })(device);

type Use = (device: GPUDevice, usage: number) => unknown;

/** The uses of a buffer, each with the usage that it needs. */
const bufferUses: Record<string, readonly [needed: number, use: Use]> = {
  "a source of a copy": [COPY_SRC, (device, usage) => copying([usage, 0], [COPY_DST, 0], 16)(device)],
  "a target of a copy": [COPY_DST, (device, usage) => copying([COPY_SRC, 0], [usage, 0], 16)(device)],
  cleared: [COPY_DST, (device, usage) => clearing(usage)(device)],
  "written by the queue": [COPY_DST, (device, usage) => writing(usage, 0, 16)(device)],
  "a target of queries": [QUERY_RESOLVE, (device, usage) => resolving(usage, 0)(device)],
  "copied to a texture": [COPY_SRC, (device, usage) => toTexture(usage, T.COPY_DST, {}, [5, 1])(device)],
  "a target of a texture": [COPY_DST, (device, usage) => fromTexture(usage, T.COPY_SRC, {}, [5, 1])(device)],
  "bound as uniform": [UNIFORM, (device, usage) => binding("uniform", usage, {})(device)],
  "bound as storage": [STORAGE, (device, usage) => binding("storage", usage, {})(device)],
  "bound as read-only storage": [STORAGE, (device, usage) => binding("read-only-storage", usage, {})(device)],
  "bound as uniform by default": [UNIFORM, bindingByDefault("compute", "uniform")],
  "bound as storage by default": [STORAGE, bindingByDefault("compute", "storage")],
  "bound to a fragment as uniform by default": [UNIFORM, bindingByDefault("fragment", "uniform")],
  "bound to a fragment as storage by default": [STORAGE, bindingByDefault("fragment", "storage")],
  vertices: [
    VERTEX,
    (device, usage) => drawing((_, pass) => pass.setVertexBuffer(0, bufferOf(device, usage)))(device),
  ],
  indices: [
    INDEX,
    (device, usage) => drawing((_, pass) => pass.setIndexBuffer(bufferOf(device, usage), "uint32"))(device),
  ],
  "arguments of a dispatch": [INDIRECT, (device, usage) => dispatching(usage, 0)(device)],
  "arguments of a draw": [INDIRECT, drawingIndirect(false)],
  "arguments of an indexed draw": [INDIRECT, drawingIndirect(true)],
  "mapped for reading": [MAP_READ, (device, usage) => mapping(usage, READ)(device)],
  "mapped for writing": [MAP_WRITE, (device, usage) => mapping(usage, WRITE)(device)],
};

const nameOfUsage = { COPY_SRC, COPY_DST, INDEX, VERTEX, UNIFORM, STORAGE, INDIRECT, QUERY_RESOLVE };
for (const [what, [needed, use]] of Object.entries(bufferUses)) {
  const others = Object.entries(nameOfUsage).filter(([, usage]) => usage !== needed);
  const all = others.reduce((usages, [, usage]) => usages | usage, 0);
  for (const [name, usage] of [...others, ["every other usage", all] as const])
    mistakes[`a buffer of ${name}, ${what}`] = (device) => use(device, usage);
}

const bindingTexture =
  (layout: Partial<GPUBindGroupLayoutEntry>, usage: number): Mistake =>
  (device) => {
    const entry = { binding: 0, visibility: flags.shaderStageCompute, ...layout };
    const resource = textureOf(device, usage, "picture").createView();
    device.createBindGroup({
      layout: device.createBindGroupLayout({ entries: [entry] }),
      entries: [{ binding: 0, resource }],
    });
  };

const bindingTextureByDefault =
  (variable: string, body: string, usage: number): Mistake =>
  (device) => {
    const code = `@group(0) @binding(0) var picture: ${variable};
    @group(0) @binding(1) var<storage, read_write> out: array<vec4f>;
    @compute @workgroup_size(1) fn go() { out[0] = vec4f(); ${body} }`;
    const compute = { module: device.createShaderModule({ code }) };
    const pipeline = device.createComputePipeline({ layout: "auto", compute });
    const entries = [
      { binding: 0, resource: textureOf(device, usage, "picture").createView() },
      { binding: 1, resource: { buffer: bufferOf(device, STORAGE) } },
    ];
    device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  };

const attaching = (usage: number, attach: (view: GPUTextureView) => GPURenderPassDescriptor): Mistake =>
  encoding((device, encoder) => {
    encoder.beginRenderPass(attach(textureOf(device, usage, "picture").createView())).end();
  });

/** The uses of a texture, each with the usage that it needs. */
const textureUses: Record<string, readonly [needed: number, use: (usage: number) => Mistake]> = {
  "a source of a copy": [T.COPY_SRC, (usage) => betweenTextures(usage, T.COPY_DST, [2, 2])],
  "a target of a copy": [T.COPY_DST, (usage) => betweenTextures(T.COPY_SRC, usage, [2, 2])],
  "copied to a buffer": [T.COPY_SRC, (usage) => fromTexture(COPY_DST, usage, {}, [5, 1])],
  "copied from a buffer": [T.COPY_DST, (usage) => toTexture(COPY_SRC, usage, {}, [5, 1])],
  "written by the queue": [T.COPY_DST, (usage) => writingTexture(usage, 60, { bytesPerRow: 20 }, [5, 3])],
  sampled: [T.TEXTURE_BINDING, (usage) => bindingTexture({ texture: {} }, usage)],
  stored: [T.STORAGE_BINDING, (usage) => bindingTexture({ storageTexture: { format: "rgba8unorm" } }, usage)],
  "sampled by default": [
    T.TEXTURE_BINDING,
    (usage) =>
      bindingTextureByDefault("texture_2d<f32>", "out[0] = textureLoad(picture, vec2u(), 0);", usage),
  ],
  "stored by default": [
    T.STORAGE_BINDING,
    (usage) =>
      bindingTextureByDefault(
        "texture_storage_2d<rgba8unorm, write>",
        "textureStore(picture, vec2u(), vec4f());",
        usage,
      ),
  ],
  drawn: [
    T.RENDER_ATTACHMENT,
    (usage) =>
      attaching(usage, (view) => ({ colorAttachments: [{ view, loadOp: "clear", storeOp: "store" }] })),
  ],
};
for (const [what, [needed, use]] of Object.entries(textureUses)) {
  const others = Object.entries(T).filter(([, usage]) => usage !== needed);
  const all = others.reduce((usages, [, usage]) => usages | usage, 0);
  for (const [name, usage] of [...others, ["every other usage", all] as const])
    mistakes[`a texture of ${name}, ${what}`] = use(usage);
}

/** Sets a pipeline, with a word for each vertex if requested. */
function setPipeline(device: GPUDevice, pass: GPURenderCommandsMixin, hasVertices = false): void {
  const module = device.createShaderModule({ code: CODE });
  const attributes = [{ shaderLocation: 0, offset: 0, format: "float32" as const }];
  const buffers = hasVertices ? [{ arrayStride: 4, attributes }] : [];
  const fragment = { module, targets: [{ format: "rgba8unorm" as const }] };
  pass.setPipeline(
    device.createRenderPipeline({
      layout: "auto",
      vertex: { module, buffers, entryPoint: hasVertices ? "place" : "placeAtZero" },
      fragment,
    }),
  );
}

/** Returns the errors of a device for a mistake. */
async function saidOf(device: GPUDevice, mistake: Mistake): Promise<Said> {
  const attempt = async () => {
    try {
      await mistake(device);
      return undefined;
    } catch (error) {
      return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    }
  };
  device.pushErrorScope("validation");
  const attempting = attempt();
  const scope = device.popErrorScope();
  const thrown = await attempting;
  const scoped = (await scope)?.message;
  const uncaptured: string[] = [];
  const listen = (event: GPUUncapturedErrorEvent) => {
    event.preventDefault();
    uncaptured.push(event.error.message);
  };
  device.addEventListener("uncapturederror", listen);
  await attempt();
  // An error that has to be restated arrives one round trip later than others.
  for (let trip = 0; trip < 3; trip++) {
    device.pushErrorScope("validation");
    await device.popErrorScope();
  }
  await device.queue.onSubmittedWorkDone();
  device.removeEventListener("uncapturederror", listen);
  return { scoped, uncaptured, thrown };
}

describe("a mistake", () => {
  const said = new Map<string, Said>();
  beforeAll(async () => {
    const plainDevice = await newDevice({ errorsAreExpected: true });
    for (const [name, mistake] of Object.entries(mistakes))
      said.set(name, await saidOf(plainDevice, mistake));
    plainDevice.destroy();
  });

  it.each([
    { half: 0, memory: "none" },
    { half: 1, memory: "none", redundancy: "inter" },
    { half: 0, memory: "secded128" },
    { half: 1, memory: "secded32", redundancy: "inter" },
    { half: 1, memory: "checksum" },
  ] as const)("is reported as on a plain device: $memory, $redundancy", async ({ half, ...policy }) => {
    const device = await harden(await newDevice({ errorsAreExpected: true }), policy);
    const made = Object.entries(mistakes).filter(
      ([name], row) => everything || name in passMistakes || row % 2 === half,
    );
    for (const [name, mistake] of made)
      expect([name, await saidOf(device, mistake)]).toEqual([name, said.get(name)]);
    device.destroy();
  });

  it("is reported for a buffer that is too small for an indirect dispatch", async () => {
    const mistake = running((pass, device) => {
      pass.dispatchWorkgroupsIndirect(bufferOf(device, INDIRECT), 0);
      pass.end();
    }, 128);
    const [plain, native] = [
      await newDevice({ errorsAreExpected: true }),
      await newDevice({ errorsAreExpected: true }),
    ];
    const device = await harden(native, { memory: "secded32" });
    const expected = await saidOf(plain, mistake);
    expect(expected.scoped).toContain("too small");
    expect(await saidOf(device, mistake)).toEqual(expected);
    plain.destroy();
    device.destroy();
  });
});

/**
 * Recovery restores all attachments of a render pass that keep contents, whatever the pass loads,
 * stores, only reads, or does not cover.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { standInProtect } from "../../../../test/support/devices/standInCompiler.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { type HardenedDevice, hardenWith } from "./hardenedDevice.ts";

const { newDevice } = testDevices({ full: true });

const SIZE = 4;
const CODE = `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(4) fn fill(@builtin(global_invocation_id) id: vec3u) { data[id.x] = 7; }
@vertex fn cover(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
  return vec4f(f32(i % 2) * 4 - 1, f32(i / 2) * 4 - 1, 0.75, 1);
}
@fragment fn quarter() -> @location(0) vec4f { return vec4f(0.25); }`;
const fault = { site: 1, replica: 0, effect: { xor: 1 }, workgroup: [0, 0, 0], localIndex: 2 } as const;

/** The part of a texture that a pass draws to. */
type Part = Partial<GPUTextureViewDescriptor> & Pick<GPURenderPassColorAttachment, "depthSlice">;

/** Draws on a device. Its results must show if work ran twice. */
class Painter {
  readonly device: GPUDevice;
  readonly #module: GPUShaderModule;

  constructor(device: GPUDevice) {
    this.device = device;
    this.#module = device.createShaderModule({ code: CODE });
  }

  texture(format: GPUTextureFormat, more?: Partial<GPUTextureDescriptor>): GPUTexture {
    const usage = GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_SRC;
    return this.device.createTexture({ size: [SIZE, SIZE], format, usage, ...more });
  }

  submit(act: (encoder: GPUCommandEncoder) => void): void {
    const encoder = this.device.createCommandEncoder();
    act(encoder);
    this.device.queue.submit([encoder.finish()]);
  }

  pass(descriptor: GPURenderPassDescriptor, draw: (pass: GPURenderPassEncoder) => void = () => {}): void {
    this.submit((encoder) => {
      const pass = encoder.beginRenderPass(descriptor);
      draw(pass);
      pass.end();
    });
  }

  /** Runs a kernel, which a fault can strike. */
  compute(): void {
    const compute = { module: this.#module, entryPoint: "fill" };
    const pipeline = this.device.createComputePipeline({ layout: "auto", compute });
    const buffer = this.device.createBuffer({ size: 16, usage: GPUBufferUsage.STORAGE });
    const layout = pipeline.getBindGroupLayout(0);
    const entries = [{ binding: 0, resource: { buffer } }];
    const group = this.device.createBindGroup({ layout, entries });
    this.submit((encoder) => {
      encodeDispatch(encoder, pipeline, group, 1);
    });
  }

  pipeline(more: Partial<GPURenderPipelineDescriptor>): GPURenderPipeline {
    const vertex = { module: this.#module, entryPoint: "cover" };
    return this.device.createRenderPipeline({ layout: "auto", vertex, ...more });
  }

  /**
   * Counts up where a triangle passes the depth test. A second one at the same depth fails the
   * test, and counts down.
   */
  count(texture: GPUTexture): void {
    const { format } = texture;
    const [hasDepth, hasStencil] = [format.startsWith("depth"), format.endsWith("stencil8")];
    const face = { compare: "always", passOp: "increment-clamp", depthFailOp: "decrement-clamp" } as const;
    const depth: GPUDepthStencilState = {
      format,
      depthWriteEnabled: hasDepth,
      depthCompare: hasDepth ? "greater" : "always",
      ...(hasStencil && { stencilFront: face, stencilBack: face }),
    };
    this.pass(
      {
        colorAttachments: [],
        depthStencilAttachment: {
          view: texture.createView(),
          ...(hasDepth && { depthLoadOp: "load", depthStoreOp: "store" }),
          ...(hasStencil && { stencilLoadOp: "load", stencilStoreOp: "store" }),
        },
      },
      (pass) => {
        pass.setPipeline(this.pipeline({ depthStencil: depth }));
        pass.draw(3);
      },
    );
  }

  /** Adds a quarter to a part of a texture. */
  add(texture: GPUTexture, { depthSlice, ...part }: Part): void {
    const component = { srcFactor: "one", dstFactor: "one", operation: "add" } as const;
    const targets = [{ format: texture.format, blend: { color: component, alpha: component } }];
    const fragment = { module: this.#module, entryPoint: "quarter", targets };
    const multisample = { count: texture.sampleCount };
    const view = texture.createView(part);
    this.pass(
      { colorAttachments: [{ view, depthSlice: depthSlice!, loadOp: "load", storeOp: "store" }] },
      (pass) => {
        pass.setPipeline(this.pipeline({ fragment, multisample }));
        pass.draw(3);
      },
    );
  }

  async read(texture: GPUTexture, place: Omit<GPUTexelCopyTextureInfo, "texture">): Promise<number> {
    const buffer = this.device.createBuffer({
      size: 256,
      usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
    });
    const { format, mipLevelCount } = texture;
    const isWhole = format.startsWith("depth") || format.endsWith("stencil8");
    const size = isWhole && mipLevelCount === 1 ? [SIZE, SIZE] : [1, 1];
    const readable = this.device.createBuffer({
      size: 1024,
      usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC,
    });
    this.submit((encoder) => {
      encoder.copyTextureToBuffer({ texture, ...place }, { buffer: readable, bytesPerRow: 256 }, size);
      encoder.copyBufferToBuffer(readable, 0, buffer, 0, 256);
    });
    await buffer.mapAsync(GPUMapMode.READ);
    const view = new DataView(buffer.getMappedRange());
    return place.aspect === "depth-only" ? view.getFloat32(0, true) : view.getUint8(0);
  }
}

let plain: GPUDevice;
let device: HardenedDevice;
beforeAll(async () => {
  plain = await newDevice();
  device = hardenWith(standInProtect, await newDevice(), { injectFaults: true });
});
afterAll(() => {
  plain.destroy();
  device.destroy();
});

/**
 * Runs `before`, and then `work` in an epoch that a fault strikes, on a plain device and on a
 * hardened one.
 */
async function same<Made>(
  before: (painter: Painter) => Made,
  work: (painter: Painter, made: Made) => Promise<unknown>,
): Promise<void> {
  const reference = new Painter(plain);
  const expected = await work(reference, before(reference));
  const painter = new Painter(device);
  const made = before(painter);
  // A fault can only be armed in an existing kernel.
  painter.compute();
  await device.belay.verify();
  const { recoveries } = await device.belay.report();
  device.belay.arm({ ...fault, kernel: "fill" });
  painter.compute();
  expect(await work(painter, made)).toEqual(expected);
  expect((await device.belay.report()).recoveries).toBe(recoveries + 1);
}

/** The ways to treat one aspect of an attachment. */
const treatments = ["clear, store", "clear, discard", "load, store", "load, discard", "read only"] as const;
type Treatment = (typeof treatments)[number];

function aspectMembers(aspect: "depth" | "stencil", treatment: Treatment): object {
  if (treatment === "read only") return { [`${aspect}ReadOnly`]: true };
  const [loadOp, storeOp] = treatment.split(", ");
  return { [`${aspect}LoadOp`]: loadOp, [`${aspect}StoreOp`]: storeOp };
}

describe("depth and stencil", () => {
  const combinations = treatments.flatMap((depth) => treatments.map((stencil) => ({ depth, stencil })));
  const aspects = [
    ...combinations.map((each) => ({ format: "depth24plus-stencil8" as const, ...each })),
    ...treatments.map((depth) => ({ format: "depth32float" as const, depth, stencil: undefined })),
    ...treatments.map((stencil) => ({ format: "stencil8" as const, depth: undefined, stencil })),
  ];

  it.each(aspects)("$format, depth: $depth, stencil: $stencil", async ({ format, depth, stencil }) => {
    const attach = (texture: GPUTexture, members: object) => ({
      colorAttachments: [],
      depthStencilAttachment: { view: texture.createView(), ...members },
    });
    await same(
      (painter) => {
        const texture = painter.texture(format);
        const all: object = {
          ...(depth && { ...aspectMembers("depth", "clear, store"), depthClearValue: 0.25 }),
          ...(stencil && { ...aspectMembers("stencil", "clear, store"), stencilClearValue: 8 }),
        };
        painter.pass(attach(texture, all));
        return texture;
      },
      async (painter, texture) => {
        const members = {
          ...(depth && { ...aspectMembers("depth", depth), depthClearValue: 0.5 }),
          ...(stencil && { ...aspectMembers("stencil", stencil), stencilClearValue: 3 }),
        };
        painter.pass(attach(texture, members));
        painter.count(texture);
        // The depth of this format cannot be read. The stencil shows if the test passed.
        return painter.read(texture, { aspect: stencil ? "stencil-only" : "depth-only" });
      },
    );
  });
});

const mip = (level: number): Part => ({ baseMipLevel: level, mipLevelCount: 1 });
const layer = (index: number): Part => ({ dimension: "2d", baseArrayLayer: index, arrayLayerCount: 1 });
const place = ({ baseMipLevel = 0, baseArrayLayer, depthSlice }: Part) => ({
  mipLevel: baseMipLevel,
  origin: [0, 0, baseArrayLayer ?? depthSlice ?? 0],
});

/** Textures with the part that a pass treats, and another part that keeps its contents. */
const shapes: Record<string, readonly [more: Partial<GPUTextureDescriptor>, part: Part, other: Part]> = {
  "a whole texture": [{}, {}, {}],
  "the first of two levels": [{ mipLevelCount: 2 }, mip(0), mip(1)],
  "the second of two levels": [{ mipLevelCount: 2 }, mip(1), mip(0)],
  "the first of two layers": [{ size: [SIZE, SIZE, 2] }, layer(0), layer(1)],
  "the second of two layers": [{ size: [SIZE, SIZE, 2] }, layer(1), layer(0)],
  "a slice of two": [{ size: [SIZE, SIZE, 2], dimension: "3d" }, { depthSlice: 0 }, { depthSlice: 1 }],
  "the only slice": [{ size: [SIZE, SIZE, 1], dimension: "3d" }, { depthSlice: 0 }, { depthSlice: 0 }],
};

const format = "rgba8unorm";
const fillWith = (painter: Painter, texture: GPUTexture, { depthSlice, ...part }: Part, value: number) => {
  const view = texture.createView(part);
  const clearValue = [value, value, value, value];
  const attachment = {
    view,
    depthSlice: depthSlice!,
    loadOp: "clear",
    storeOp: "store",
    clearValue,
  } as const;
  painter.pass({ colorAttachments: [attachment] });
};

/** Returns the steps before and after a pass on a part of a texture. */
const around = ([more, part, other]: (typeof shapes)[string]) => ({
  before: (painter: Painter) => {
    const texture = painter.texture(format, more);
    for (const each of [part, other]) fillWith(painter, texture, each, 0.5);
    return texture;
  },
  finish: (painter: Painter, texture: GPUTexture) => {
    for (const each of [part, other]) painter.add(texture, each);
    return Promise.all([part, other].map((each) => painter.read(texture, place(each))));
  },
});

describe.each(Object.entries(shapes))("color, %s", (_, shape) => {
  const [, { depthSlice, ...part }] = shape;
  const { before, finish } = around(shape);

  it.each(treatments.slice(0, 4))("%s", async (treatment) => {
    const [loadOp, storeOp] = treatment.split(", ") as [GPULoadOp, GPUStoreOp];
    await same(before, (painter, texture) => {
      const view = texture.createView(part);
      const clearValue = [0.25, 0.25, 0.25, 0.25];
      painter.pass({ colorAttachments: [{ view, depthSlice: depthSlice!, loadOp, storeOp, clearValue }] });
      return finish(painter, texture);
    });
  });
});

// Samples cannot be resolved to a slice.
const resolvable = Object.entries(shapes).filter(([, [, part]]) => part.depthSlice === undefined);

it.each(resolvable)("color, %s, as the target that samples are resolved to", async (_, shape) => {
  const [, part] = shape;
  const { before, finish } = around(shape);
  await same(before, (painter, texture) => {
    const size = part.baseMipLevel === 1 ? [SIZE / 2, SIZE / 2] : [SIZE, SIZE];
    const usage = GPUTextureUsage.RENDER_ATTACHMENT;
    const samples = painter.texture(format, { size, sampleCount: 4, usage });
    painter.pass({
      colorAttachments: [
        {
          view: samples.createView(),
          resolveTarget: texture.createView(part),
          loadOp: "clear",
          storeOp: "discard",
          clearValue: [0.125, 0, 0, 0],
        },
      ],
    });
    return finish(painter, texture);
  });
});

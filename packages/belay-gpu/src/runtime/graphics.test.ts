/**
 * Results of kernels in textures, and of render passes and bundles that use them, are contained and
 * recovered too.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { standInProtect } from "../../../../test/support/devices/standInCompiler.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import type { Policy } from "./context/policy.ts";
import { type HardenedDevice, hardenWith } from "./hardenedDevice.ts";

const { sharedDevice } = testDevices();

const SIZE = 64;
const COMPUTE = `
@group(0) @binding(0) var<storage, read_write> points: array<vec4f>;
@group(0) @binding(1) var picture: texture_storage_2d<rgba8unorm, write>;
@group(0) @binding(2) var source: texture_2d<f32>;
@compute @workgroup_size(4) fn shift(@builtin(global_invocation_id) id: vec3u) {
  points[id.x] = points[id.x] + vec4f(f32(id.x) / 4, 0, 0, 1);
}
@compute @workgroup_size(4) fn paint(@builtin(global_invocation_id) id: vec3u) {
  textureStore(picture, id.xy, textureLoad(source, id.xy, 0) + vec4f(f32(id.x) / 64, 0.5, 0, 1));
}`;
const RENDER = `
@vertex fn vertex(@location(0) point: vec4f) -> @builtin(position) vec4f { return point; }
@fragment fn fragment() -> @location(0) vec4f { return vec4f(1, 0.5, 0.25, 1); }`;

/** Arms a fault in one of the kernels, after creating a pipeline of it. */
function arm(device: HardenedDevice, kernel: string): void {
  const module = device.createShaderModule({ code: COMPUTE });
  device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: kernel } });
  const place = { workgroup: [0, 0, 0], localIndex: 2 } as const;
  const site = kernel === "shift" ? 1 : 2;
  device.belay.arm({ kernel, site, replica: 0, effect: { xor: 1 }, ...place });
}

function textureOf(device: GPUDevice): GPUTexture {
  const { COPY_SRC, COPY_DST, STORAGE_BINDING, TEXTURE_BINDING, RENDER_ATTACHMENT } = GPUTextureUsage;
  const usage = COPY_SRC | COPY_DST | STORAGE_BINDING | TEXTURE_BINDING | RENDER_ATTACHMENT;
  return device.createTexture({ size: [SIZE, 4], format: "rgba8unorm", usage });
}

/** A program on a device. It sees only the result of `read`. */
class Painter {
  readonly device: GPUDevice;
  readonly picture: GPUTexture;
  readonly canvas: GPUTexture;
  readonly #points: GPUBuffer;
  readonly #module: GPUShaderModule;
  readonly #line: GPURenderPipeline;

  constructor(device: GPUDevice) {
    this.device = device;
    this.picture = textureOf(device);
    this.canvas = textureOf(device);
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.VERTEX;
    this.#points = device.createBuffer({ size: 64, usage });
    this.#module = device.createShaderModule({ code: COMPUTE });
    const module = device.createShaderModule({ code: RENDER });
    const attributes = [{ shaderLocation: 0, offset: 0, format: "float32x4" as const }];
    this.#line = device.createRenderPipeline({
      layout: "auto",
      vertex: { module, buffers: [{ arrayStride: 16, attributes }] },
      fragment: { module, targets: [{ format: "rgba8unorm" }] },
      primitive: { topology: "line-strip" },
    });
  }

  compute(
    entryPoint: "shift" | "paint",
    into: GPUTexture = this.picture,
    from: GPUTexture = this.canvas,
  ): void {
    const module = this.#module;
    const pipeline = this.device.createComputePipeline({ layout: "auto", compute: { module, entryPoint } });
    const resources: GPUBindGroupEntry[] =
      entryPoint === "shift"
        ? [{ binding: 0, resource: { buffer: this.#points } }]
        : [
            { binding: 1, resource: into.createView() },
            { binding: 2, resource: from.createView() },
          ];
    const encoder = this.device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    const layout = pipeline.getBindGroupLayout(0);
    pass.setBindGroup(0, this.device.createBindGroup({ layout, entries: resources }));
    pass.dispatchWorkgroups(entryPoint === "shift" ? 1 : SIZE / 4, entryPoint === "shift" ? 1 : 4);
    pass.end();
    this.device.queue.submit([encoder.finish()]);
  }

  /** Fills a texture through a view of another format. */
  clearSrgb(texture: GPUTexture): void {
    const encoder = this.device.createCommandEncoder();
    const view = texture.createView({ format: "rgba8unorm-srgb" });
    const clearValue = [0.5, 0.25, 0.125, 1];
    encoder
      .beginRenderPass({ colorAttachments: [{ view, loadOp: "clear", storeOp: "store", clearValue }] })
      .end();
    this.device.queue.submit([encoder.finish()]);
  }

  draw(texture: GPUTexture, { bundled = false, loadOp = "clear" as GPULoadOp } = {}): void {
    const encoder = this.device.createCommandEncoder();
    const view = texture.createView();
    const pass = encoder.beginRenderPass({ colorAttachments: [{ view, loadOp, storeOp: "store" }] });
    const encode = (to: GPURenderPassEncoder | GPURenderBundleEncoder) => {
      to.setPipeline(this.#line);
      to.setVertexBuffer(0, this.#points);
      to.draw(4);
    };
    if (bundled) {
      const bundle = this.device.createRenderBundleEncoder({ colorFormats: ["rgba8unorm"] });
      encode(bundle);
      pass.executeBundles([bundle.finish()]);
    } else {
      encode(pass);
    }
    pass.end();
    this.device.queue.submit([encoder.finish()]);
  }

  copy(from: GPUTexture, to: GPUTexture): void {
    const encoder = this.device.createCommandEncoder();
    encoder.copyTextureToTexture({ texture: from, origin: [8, 0] }, { texture: to }, [16, 4]);
    this.device.queue.submit([encoder.finish()]);
  }

  async read(texture: GPUTexture): Promise<Uint32Array> {
    const usage = GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ;
    const buffer = this.device.createBuffer({ size: 4 * 4 * SIZE, usage });
    const encoder = this.device.createCommandEncoder();
    encoder.copyTextureToBuffer({ texture }, { buffer, bytesPerRow: 4 * SIZE }, [SIZE, 4]);
    this.device.queue.submit([encoder.finish()]);
    await buffer.mapAsync(GPUMapMode.READ);
    return new Uint32Array(buffer.getMappedRange()).slice();
  }
}

/** Programs whose result passes through textures, each with the kernel to strike. */
const programs = {
  "a texture that a kernel stores into, and adds to": {
    kernel: "paint",
    run: (painter: Painter) => {
      painter.compute("paint", painter.picture, painter.canvas);
      painter.compute("paint", painter.canvas, painter.picture);
      return painter.read(painter.canvas);
    },
  },
  "a part of a texture, copied": {
    kernel: "paint",
    run: (painter: Painter) => {
      painter.draw(painter.canvas);
      painter.compute("paint");
      painter.copy(painter.picture, painter.canvas);
      return painter.read(painter.canvas);
    },
  },
  "a drawing of what a kernel computed": {
    kernel: "shift",
    run: (painter: Painter) => {
      painter.compute("shift");
      painter.draw(painter.picture);
      painter.compute("shift");
      painter.draw(painter.picture, { loadOp: "load" });
      return painter.read(painter.picture);
    },
  },
  "a drawing by a bundle": {
    kernel: "shift",
    run: (painter: Painter) => {
      painter.compute("shift");
      painter.draw(painter.picture, { bundled: true });
      return painter.read(painter.picture);
    },
  },
};

const harden = async (policy: Policy): Promise<HardenedDevice> =>
  hardenWith(standInProtect, await sharedDevice(), { injectFaults: true, ...policy });

describe.each(Object.entries(programs))("%s", (_, { kernel, run }) => {
  it("gives the same result with a fault as without", async () => {
    const plain = await sharedDevice();
    const expected = await run(new Painter(plain));
    expect(expected.some((texel) => texel !== expected[0])).toBe(true);
    const device = await harden({ onFault: "recover" });
    arm(device, kernel);
    expect(await run(new Painter(device))).toEqual(expected);
    expect(await device.belay.report()).toMatchObject({ recoveries: 1, giveUps: 0 });
    plain.destroy();
    device.destroy();
  });

  it("is refused if it is not recovered", async () => {
    const device = await harden({ onFault: "throw" });
    arm(device, kernel);
    await expect(run(new Painter(device))).rejects.toMatchObject({ name: "FaultError" });
    device.destroy();
  });
});

it("trusts a texture again after the host or a pass has replaced all of it", async () => {
  const device = await harden({ onFault: "throw" });
  const painter = new Painter(device);
  arm(device, "paint");
  painter.compute("paint");
  device.belay.disarm();
  await expect(painter.read(painter.picture)).rejects.toThrow("paint");
  painter.draw(painter.picture, { loadOp: "load" });
  await expect(painter.read(painter.picture)).rejects.toThrow("paint");
  painter.draw(painter.picture);
  await painter.read(painter.picture);
  device.destroy();
});

it("reports the same wrong usages as a plain device", async () => {
  const wrong = async (device: GPUDevice) => {
    const texture = device.createTexture({
      size: [64],
      format: "r32uint",
      usage: GPUTextureUsage.STORAGE_BINDING,
    });
    const buffer = device.createBuffer({ size: 256, usage: GPUBufferUsage.STORAGE });
    const other = device.createBuffer({ size: 256, usage: GPUBufferUsage.COPY_DST });
    const errors: (GPUError | null)[] = [];
    const attempt = async (act: (encoder: GPUCommandEncoder) => void) => {
      device.pushErrorScope("validation");
      const encoder = device.createCommandEncoder();
      act(encoder);
      encoder.finish();
      errors.push(await device.popErrorScope());
    };
    await attempt((encoder) => encoder.clearBuffer(buffer));
    await attempt((encoder) => encoder.copyBufferToBuffer(buffer, 0, other, 0, 64));
    await attempt((encoder) => encoder.copyTextureToBuffer({ texture }, { buffer }, [1]));
    await attempt((encoder) => encoder.copyBufferToTexture({ buffer }, { texture }, [1]));
    await attempt(() => device.queue.writeBuffer(buffer, 0, new Uint32Array(1)));
    await attempt(() => device.queue.writeTexture({ texture }, new Uint32Array(1), {}, [1]));
    return errors.map((error) => error?.message);
  };
  const plain = await sharedDevice();
  const expected = await wrong(plain);
  expect(expected).toHaveLength(6);
  for (const message of expected) expect(message).toMatch(/usage/i);
  const device = await harden({});
  expect(await wrong(device)).toEqual(expected);
  plain.destroy();
  device.destroy();
});

describe("a canvas", () => {
  /** The parts of a canvas that the runtime uses, on a native device. */
  class CanvasContext {
    configuration: GPUCanvasConfiguration | undefined;
    texture: GPUTexture | undefined;
    configure(configuration: GPUCanvasConfiguration) {
      this.configuration = configuration;
    }
    unconfigure() {
      this.configuration = undefined;
    }
    getConfiguration() {
      return this.configuration;
    }
    getCurrentTexture() {
      this.texture ??= this.configuration!.device.createTexture({
        size: [SIZE, 4],
        format: "rgba8unorm",
        viewFormats: ["rgba8unorm-srgb"],
        usage: GPUTextureUsage.RENDER_ATTACHMENT,
      });
      return this.texture;
    }
    /** The canvas takes its texture back. */
    endFrame() {
      this.texture?.destroy();
      this.texture = undefined;
    }
  }
  beforeAll(() => void Reflect.set(globalThis, "GPUCanvasContext", CanvasContext));
  afterAll(() => void Reflect.deleteProperty(globalThis, "GPUCanvasContext"));

  const shown = (device: HardenedDevice) => {
    const context = new CanvasContext();
    context.configure({ device, format: "rgba8unorm" });
    return context;
  };

  it("accepts a hardened device in place of the native one", async () => {
    const native = await sharedDevice();
    const device = hardenWith(standInProtect, native);
    const context = shown(device);
    expect(context.configuration?.device).toBe(native);
    expect(context.getConfiguration()?.device).toBe(device);
    context.unconfigure();
    expect(context.getConfiguration()).toBeUndefined();
    context.configure({ device: native, format: "rgba8unorm" });
    expect(context.getConfiguration()?.device).toBe(native);
    native.destroy();
  });

  it("does not prevent recovery, although its frames are gone", async () => {
    const device = await harden({});
    const context = shown(device);
    const painter = new Painter(device);
    painter.compute("shift");
    arm(device, "shift");
    painter.compute("shift");
    painter.clearSrgb(context.getCurrentTexture());
    painter.draw(context.getCurrentTexture());
    context.endFrame();
    painter.draw(painter.picture);
    const plain = await sharedDevice();
    const reference = new Painter(plain);
    for (let i = 0; i < 2; i++) reference.compute("shift");
    reference.draw(reference.picture);
    expect(await painter.read(painter.picture)).toEqual(await reference.read(reference.picture));
    expect(await device.belay.report()).toMatchObject({ recoveries: 1, giveUps: 0, framesShown: 2 });
    plain.destroy();
    device.destroy();
  });

  it("does not show data that is known to be wrong", async () => {
    const device = await harden({ onFault: "throw" });
    const context = shown(device);
    const painter = new Painter(device);
    arm(device, "shift");
    painter.compute("shift");
    await expect(device.belay.verify()).rejects.toThrow("shift");
    expect(() => painter.draw(context.getCurrentTexture())).toThrow("shift");
    device.destroy();
  });
});

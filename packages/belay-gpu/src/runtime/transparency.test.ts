/**
 * A hardened device and its objects look to a program like those of a plain device, and both work
 * side by side.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { harden } from "./harden.ts";
import type { HardenedDevice } from "./hardenedDevice.ts";

const { newDevice } = testDevices();

type Anything = (...args: unknown[]) => void;

const CODE = `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(4) fn fill(@builtin(local_invocation_index) i: u32) { data[i] = i + 7; }
@vertex fn place() -> @builtin(position) vec4f { return vec4f(); }
@fragment fn paint() -> @location(0) vec4f { return vec4f(); }`;

/** One object of each kind that a device creates. */
function objectsOf(device: GPUDevice) {
  const { STORAGE, MAP_READ, COPY_DST } = GPUBufferUsage;
  const texture = device.createTexture({
    size: [4, 4],
    format: "rgba8unorm",
    usage: GPUTextureUsage.RENDER_ATTACHMENT,
  });
  const view = texture.createView();
  const module = device.createShaderModule({ code: CODE });
  const layout = device.createBindGroupLayout({ entries: [] });
  const encoder = device.createCommandEncoder();
  const computePass = encoder.beginComputePass();
  computePass.end();
  const renderPass = encoder.beginRenderPass({
    colorAttachments: [{ view, loadOp: "clear", storeOp: "store" }],
  });
  renderPass.end();
  const open = device.createCommandEncoder();
  const bundles = device.createRenderBundleEncoder({ colorFormats: ["rgba8unorm"] });
  const targets = [{ format: "rgba8unorm" as const }];
  return {
    device,
    queue: device.queue,
    storage: device.createBuffer({ size: 16, usage: STORAGE }),
    staging: device.createBuffer({ size: 16, usage: MAP_READ | COPY_DST }),
    mapped: device.createBuffer({ size: 16, usage: STORAGE, mappedAtCreation: true }),
    texture,
    view,
    module,
    layout,
    pipelineLayout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
    group: device.createBindGroup({ layout, entries: [] }),
    computePipeline: device.createComputePipeline({
      layout: "auto",
      compute: { module, entryPoint: "fill" },
    }),
    renderPipeline: device.createRenderPipeline({
      layout: "auto",
      vertex: { module },
      fragment: { module, targets },
    }),
    encoder,
    computePass,
    renderPass,
    open,
    openPass: open.beginComputePass(),
    bundles,
    sampler: device.createSampler(),
    commands: encoder.finish(),
    bundle: bundles.finish(),
  };
}
type Objects = ReturnType<typeof objectsOf>;

/** Everything that a program can ask an object without changing it. */
function looks(object: object) {
  const enumerated: string[] = [];
  for (const name in object) enumerated.push(name);
  return {
    prototype: Object.getPrototypeOf(object),
    own: Object.getOwnPropertyNames(object).filter((name) => !Object.hasOwn(native, name)),
    enumerated: enumerated.sort(),
    text: Object.prototype.toString.call(object),
    constructor: object.constructor,
  };
}
/** The names that the package's own devices have as members of their own. */
const native = { features: 0, limits: 0, adapterInfo: 0, queue: 0, lost: 0 };

let plainDevice: GPUDevice;
beforeAll(async () => {
  plainDevice = await newDevice();
});
afterAll(() => plainDevice.destroy());

describe.each(["none", "secded128"] as const)("memory %s", (memory) => {
  let device: HardenedDevice;
  let plain: Objects;
  let hardened: Objects;
  beforeAll(async () => {
    device = await harden(await newDevice(), { memory });
    plain = objectsOf(plainDevice);
    hardened = objectsOf(device);
  });
  afterAll(() => device.destroy());

  it("creates objects that look like a plain device's", () => {
    for (const name of Object.keys(plain) as (keyof Objects)[]) {
      if (name === "device" || name === "queue") continue;
      expect(looks(hardened[name]), name).toEqual(looks(plain[name]));
    }
    for (const name of ["device", "queue"] as const) {
      const { prototype, text } = looks(hardened[name]);
      expect({ prototype, text }).toEqual({
        prototype: looks(plain[name]).prototype,
        text: looks(plain[name]).text,
      });
    }
  });

  it("leaves the members of each class enumerable and configurable", () => {
    for (const made of [
      GPUBuffer,
      GPUTexture,
      GPUDevice,
      GPUQueue,
      GPUCommandEncoder,
      GPUComputePassEncoder,
    ]) {
      for (const [name, each] of Object.entries(Object.getOwnPropertyDescriptors(made.prototype))) {
        if (name === "constructor") continue;
        expect(each).toMatchObject({ enumerable: true, configurable: true });
      }
    }
  });

  it("makes its device and its queue instances of their classes", async () => {
    const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    const usage = STORAGE | COPY_SRC | COPY_DST;
    const buffer = GPUDevice.prototype.createBuffer.call(device, { size: 16, usage });
    expect(buffer.usage).toBe(usage);
    GPUQueue.prototype.writeBuffer.call(device.queue, buffer, 0, new Uint32Array([1, 2, 3, 4]));
    const encoder = GPUDevice.prototype.createCommandEncoder.call(device, {});
    const pipeline = hardened.computePipeline;
    const layout = GPUComputePipeline.prototype.getBindGroupLayout.call(pipeline, 0);
    const entries = [{ binding: 0, resource: { buffer } }];
    const group = GPUDevice.prototype.createBindGroup.call(device, { layout, entries });
    const pass = GPUCommandEncoder.prototype.beginComputePass.call(encoder);
    GPUComputePassEncoder.prototype.setPipeline.call(pass, pipeline);
    (GPUComputePassEncoder.prototype.setBindGroup as Anything).call(pass, 0, group);
    GPUComputePassEncoder.prototype.dispatchWorkgroups.call(pass, 1);
    GPUComputePassEncoder.prototype.end.call(pass);
    const staging = device.createBuffer({ size: 16, usage: GPUBufferUsage.MAP_READ | COPY_DST });
    const copy = GPUCommandEncoder.prototype.copyBufferToBuffer as Anything;
    copy.call(encoder, buffer, 0, staging, 0, 16);
    const before = (await device.belay.report()).checks;
    GPUQueue.prototype.submit.call(device.queue, [GPUCommandEncoder.prototype.finish.call(encoder)]);
    await GPUBuffer.prototype.mapAsync.call(staging, GPUMapMode.READ);
    const bytes = GPUBuffer.prototype.getMappedRange.call(staging);
    expect([...new Uint32Array(bytes)]).toEqual([7, 8, 9, 10]);
    expect((await device.belay.report()).checks).toBeGreaterThan(before);
    GPUDevice.prototype.pushErrorScope.call(device, "validation");
    expect(await GPUDevice.prototype.popErrorScope.call(device)).toBeNull();
  });

  it("verifies mapped data through the class's prototype", async () => {
    const armed = await harden(await newDevice(), { memory, injectFaults: true, onFault: "throw" });
    const { storage, staging, computePipeline } = objectsOf(armed);
    storage.destroy();
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC;
    const buffer = armed.createBuffer({ size: 16, usage });
    const site = armed.belay.faultSites()[0]!.sites.find(({ kind }) => kind === "value")!.id;
    const place = { replica: 1, effect: { xor: 2 }, workgroup: [0, 0, 0], localIndex: 3 } as const;
    armed.belay.arm({ kernel: "fill", site, ...place });
    const encoder = armed.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(computePipeline);
    const layout = computePipeline.getBindGroupLayout(0);
    pass.setBindGroup(0, armed.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] }));
    pass.dispatchWorkgroups(1);
    pass.end();
    encoder.copyBufferToBuffer(buffer, 0, staging, 0, 16);
    armed.queue.submit([encoder.finish()]);
    const mapping = (Object.getPrototypeOf(staging) as GPUBuffer).mapAsync.call(staging, GPUMapMode.READ);
    const mapState = Object.getOwnPropertyDescriptor(GPUBuffer.prototype, "mapState")!.get!;
    expect(mapState.call(staging)).toBe("pending");
    await expect(mapping).rejects.toMatchObject({ name: "FaultError" });
    expect(mapState.call(staging)).toBe("unmapped");
    armed.destroy();
  });
});

it("lets tools wrap the methods of a class, for both kinds of devices", async () => {
  const device = await harden(await newDevice());
  const { destroy } = GPUBuffer.prototype;
  const destroyed: GPUBuffer[] = [];
  GPUBuffer.prototype.destroy = function () {
    destroyed.push(this);
    return destroy.call(this);
  };
  const buffers = [device, plainDevice].map((each) =>
    each.createBuffer({ size: 4, usage: GPUBufferUsage.STORAGE }),
  );
  for (const each of buffers) each.destroy();
  GPUBuffer.prototype.destroy = destroy;
  expect(destroyed).toEqual(buffers);
  device.destroy();
});

it.each([{}, { redundancy: "none" }] as const)(
  "has the device's properties, and throws its errors for descriptors of other shapes, %o",
  async (policy) => {
    const native = await newDevice();
    const device = harden(native, policy);
    expect(Object.keys(device)).toEqual(Object.keys(native));
    expect({ ...device }.limits).toBe(native.limits);
    const mistakes = [
      (of: GPUDevice) => of.createComputePipeline({} as GPUComputePipelineDescriptor),
      (of: GPUDevice) => of.queue.submit(null as unknown as GPUCommandBuffer[]),
      (of: GPUDevice) => of.queue.submit({} as GPUCommandBuffer[]),
    ];
    for (const mistake of mistakes) {
      let plain: unknown;
      try {
        mistake(native);
      } catch (error) {
        plain = error;
      }
      expect(plain).toBeInstanceOf(TypeError);
      expect(() => mistake(device)).toThrow(plain as TypeError);
    }
    native.destroy();
  },
);

it("rejects objects of other classes as before", () => {
  const { mapAsync } = GPUBuffer.prototype;
  for (const wrong of [{}, undefined, 5, plainDevice]) {
    expect(() => mapAsync.call(wrong as unknown as GPUBuffer, GPUMapMode.READ)).toThrow(TypeError);
  }
});

describe("a method without its object", () => {
  const methodsOf = (prototype: object) =>
    Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([name, { value }]) =>
      typeof value === "function" && name !== "constructor" ? [name] : [],
    );
  /** Returns the result of calling a method on no object, or on a wrong one. */
  const outcome = async (call: () => unknown) => {
    try {
      await call();
      return "nothing";
    } catch (error) {
      return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    }
  };

  it.each(["none", "secded128"] as const)(
    "is rejected as a plain device rejects it: memory %s",
    async (memory) => {
      const device = await harden(await newDevice(), { memory });
      const [hardened, plain] = [objectsOf(device), objectsOf(plainDevice)];
      for (const key of Object.keys(plain) as (keyof Objects)[]) {
        for (const name of methodsOf(Object.getPrototypeOf(plain[key]))) {
          const [ours, own] = [hardened, plain].map((objects) => Reflect.get(objects[key], name) as Anything);
          for (const wrong of [undefined, {}, globalThis]) {
            const expected = await outcome(() => own!.call(wrong));
            expect(expected, `${key}.${name}`).toMatch(/^TypeError/);
            expect(await outcome(() => ours!.call(wrong)), `${key}.${name}`).toBe(expected);
          }
        }
      }
      const { submit } = device.queue;
      expect(() => submit([])).toThrow(TypeError);
      device.destroy();
    },
  );

  it("is the method of the class, so it works for other objects too", async () => {
    const device = await harden(await newDevice());
    expect(device.queue.submit).toBe(GPUQueue.prototype.submit);
    expect(device.createBuffer).toBe(GPUDevice.prototype.createBuffer);
    const buffer = device.createBuffer.call(plainDevice, { size: 4, usage: GPUBufferUsage.COPY_DST });
    device.queue.writeBuffer.call(plainDevice.queue, buffer, 0, new Uint32Array([1]));
    expect((await device.belay.report()).checks).toBe(0);
    device.destroy();
  });

  it("is the method that a tool has put in its place", async () => {
    const device = await harden(await newDevice());
    const { submit } = GPUQueue.prototype;
    const seen: GPUQueue[] = [];
    GPUQueue.prototype.submit = function (buffers) {
      seen.push(this);
      return submit.call(this, buffers);
    };
    device.queue.submit([]);
    GPUQueue.prototype.submit = submit;
    expect(seen[0]).toBe(device.queue);
    device.destroy();
  });
});

it.each(["none", "secded128", "checksum"] as const)(
  "ends mappings of destroyed buffers, %s",
  async (memory) => {
    const device = await harden(await newDevice(), { memory });
    const { STORAGE } = GPUBufferUsage;
    const buffer = device.createBuffer({ size: 16, usage: STORAGE, mappedAtCreation: true });
    const range = buffer.getMappedRange(0, 8);
    buffer.destroy();
    expect(range.byteLength).toBe(0);
    expect(() => buffer.getMappedRange(8, 8)).toThrow(expect.objectContaining({ name: "OperationError" }));
    device.destroy();
  },
);

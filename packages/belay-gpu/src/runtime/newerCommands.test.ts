/**
 * Work runs again with the immediate data that its commands had. It does not run again without
 * commands that Belay does not know.
 */
import { describe, expect, it } from "vitest";
import { download, upload } from "../../../../test/support/devices/storageBuffers.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { protect } from "../compiler/protect.ts";
import { hardenWith } from "./hardenedDevice.ts";

const { sharedDevice } = testDevices();

const CODE = `
var<immediate> step: vec2u;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(4) fn count(@builtin(global_invocation_id) id: vec3u) {
  out[id.x] = step.x * id.x + step.y;
}
@vertex fn corner(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
  return vec4f(vec2f(vec2u(i << 1u, i) & vec2u(2u)) * 2.0 - 1.0, 0, 1);
}
@fragment fn color() -> @location(0) vec4f { return vec4f(vec2f(step) / 255.0, 0, 1); }`;

/** The same data in the forms that WebGPU accepts, with its offset and size in that form. */
const forms: Readonly<Record<string, () => [GPUAllowSharedBufferSource, number?, number?]>> = {
  "a typed array": () => [new Uint32Array([3, 7])],
  "a part of a typed array": () => [new Uint32Array([1, 3, 7, 1]), 1, 2],
  "a buffer": () => [new Uint32Array([1, 3, 7]).buffer, 4, 8],
};

/** Overwrites data that was given to a command. */
const spoil = (data: GPUAllowSharedBufferSource) =>
  new Uint8Array(ArrayBuffer.isView(data) ? data.buffer : data).fill(255);

/** Creates a hardened device with a fault in the kernel. */
async function struck(module: string) {
  const device = hardenWith(protect, await sharedDevice(), { injectFaults: true });
  const code = device.createShaderModule({ code: module });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module: code } });
  const [{ kernel, sites } = { kernel: "", sites: [] }] = device.belay.faultSites();
  const { id } = sites.find(({ kind }) => kind === "value")!;
  device.belay.arm({ kernel, site: id, replica: 0, effect: { xor: 4 }, workgroup: [0, 0, 0], localIndex: 2 });
  const out = upload(device, [0, 0, 0, 0]);
  const entries = [{ binding: 0, resource: { buffer: out } }];
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  const dispatch = (pass: GPUComputePassEncoder) => {
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(1);
  };
  return { device, code, out, dispatch };
}

describe("immediate data", () => {
  it.each(Object.entries(forms))("of a compute pass, from %s", async (_, form) => {
    const { device, out, dispatch } = await struck(CODE);
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    const [data, ...part] = form();
    pass.setImmediates(0, data, ...part);
    spoil(data);
    dispatch(pass);
    pass.setImmediates(4, new Uint32Array([9]));
    pass.end();
    device.queue.submit([encoder.finish()]);
    expect(await download(device, out)).toEqual([7, 10, 13, 16]);
    expect((await device.belay.report()).recoveries).toBe(1);
  });

  it("of a render pass", async () => {
    const { device, code, out, dispatch } = await struck(CODE);
    const size = 64;
    const usage = GPUTextureUsage.RENDER_ATTACHMENT | GPUTextureUsage.COPY_SRC;
    const picture = device.createTexture({ size: [size, 1], format: "rgba8unorm", usage });
    const line = device.createRenderPipeline({
      layout: "auto",
      vertex: { module: code },
      fragment: { module: code, targets: [{ format: "rgba8unorm" }] },
    });
    const encoder = device.createCommandEncoder();
    const work = encoder.beginComputePass();
    work.setImmediates(0, new Uint32Array([3, 7]));
    dispatch(work);
    work.end();
    const view = picture.createView();
    const pass = encoder.beginRenderPass({ colorAttachments: [{ view, loadOp: "clear", storeOp: "store" }] });
    const data = new Uint32Array([50, 60]);
    pass.setPipeline(line);
    pass.setImmediates(0, data);
    data.fill(0);
    pass.draw(3);
    pass.end();
    const pixels = upload(device, new Array(size).fill(0));
    encoder.copyTextureToBuffer({ texture: picture }, { buffer: pixels, bytesPerRow: 4 * size }, [size, 1]);
    device.queue.submit([encoder.finish()]);
    expect(await download(device, out)).toEqual([7, 10, 13, 16]);
    const [pixel] = await download(device, pixels);
    expect([pixel! & 255, (pixel! >> 8) & 255]).toEqual([50, 60]);
    expect((await device.belay.report()).recoveries).toBe(1);
  });
});

describe("a command that Belay does not know", () => {
  const name = "drawAsNobodyHas";

  it.each(["compute", "render"] as const)("keeps a %s pass from running again without it", async (kind) => {
    const { device, out, dispatch } = await struck(CODE);
    const picture = device.createTexture({
      size: [1],
      format: "rgba8unorm",
      usage: GPUTextureUsage.RENDER_ATTACHMENT,
    });
    const attachment = { view: picture.createView(), loadOp: "clear", storeOp: "store" } as const;
    const prototype = kind === "compute" ? GPUComputePassEncoder.prototype : GPURenderPassEncoder.prototype;
    Object.defineProperty(prototype, name, { value() {}, configurable: true });
    try {
      const encoder = device.createCommandEncoder();
      const work = encoder.beginComputePass();
      work.setImmediates(0, new Uint32Array([3, 7]));
      dispatch(work);
      if (kind === "compute") Reflect.get(work, name).call(work);
      work.end();
      if (kind === "render") {
        const pass = encoder.beginRenderPass({ colorAttachments: [attachment] });
        Reflect.get(pass, name).call(pass);
        pass.end();
      }
      device.queue.submit([encoder.finish()]);
      await expect(download(device, out)).rejects.toThrow(
        `it has the command ${name}, which is not recorded`,
      );
    } finally {
      Reflect.deleteProperty(prototype, name);
    }
  });
});

/**
 * Two hardened devices of one native device share no objects. Each would release the results of the
 * other without verification.
 */
import { expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { harden } from "./harden.ts";

const { newDevice } = testDevices();

const WORDS = 16;
const BYTES = 4 * WORDS;
const CODE = `
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(16) fn increment(@builtin(local_invocation_index) i: u32) { words[i] += 1u; }
@vertex fn place() -> @builtin(position) vec4f { return vec4f(); }
@fragment fn paint() -> @location(0) vec4f { return vec4f(); }`;

/** Creates one object of each class. */
function objectsOf(device: GPUDevice) {
  const buffer = device.createBuffer({ label: "words", size: BYTES, usage: 4 | 8 | 128 | 256 | 512 });
  const vertices = device.createBuffer({ size: BYTES, usage: 16 | 32 | 256 });
  const texture = device.createTexture({ size: [4, 4], format: "rgba8unorm", usage: 1 | 2 | 4 | 16 });
  const view = texture.createView();
  const sampler = device.createSampler();
  const querySet = device.createQuerySet({ type: "occlusion", count: 1 });
  const module = device.createShaderModule({ code: CODE });
  const entry = { binding: 0, visibility: 4, buffer: { type: "storage" } } as const;
  const bindGroupLayout = device.createBindGroupLayout({ entries: [entry] });
  const layout = device.createPipelineLayout({ bindGroupLayouts: [bindGroupLayout] });
  const entries = [{ binding: 0, resource: { buffer } }];
  const group = device.createBindGroup({ layout: bindGroupLayout, entries });
  const pipeline = device.createComputePipeline({ layout, compute: { module } });
  const fragment: GPUFragmentState = { module, targets: [{ format: "rgba8unorm" }] };
  const painting = { layout: "auto", vertex: { module }, fragment } as const;
  const renderPipeline = device.createRenderPipeline(painting);
  const bundle = device.createRenderBundleEncoder({ colorFormats: ["rgba8unorm"] }).finish();
  const inEncoder = (encode: (encoder: GPUCommandEncoder) => void) => {
    const encoder = device.createCommandEncoder();
    encode(encoder);
    return encoder.finish();
  };
  const inPass = (encode: (pass: GPUComputePassEncoder) => void) =>
    inEncoder((encoder) => {
      const pass = encoder.beginComputePass();
      encode(pass);
      pass.end();
    });
  const inRenderPass = (
    encode: (pass: GPURenderPassEncoder) => void,
    attachment: Partial<GPURenderPassColorAttachment> = {},
    more: Partial<GPURenderPassDescriptor> = {},
  ) =>
    inEncoder((encoder) => {
      const color = { view, loadOp: "clear", storeOp: "store", ...attachment } as const;
      const pass = encoder.beginRenderPass({ colorAttachments: [color], ...more });
      encode(pass);
      pass.end();
    });
  const inBundle = (encode: (bundle: GPURenderBundleEncoder) => void) => {
    const encoder = device.createRenderBundleEncoder({ colorFormats: ["rgba8unorm"] });
    encode(encoder);
    return encoder.finish();
  };
  const bind = (resource: GPUBindingResource, as: Omit<GPUBindGroupLayoutEntry, "binding" | "visibility">) =>
    device.createBindGroup({
      layout: device.createBindGroupLayout({ entries: [{ binding: 0, visibility: 4, ...as }] }),
      entries: [{ binding: 0, resource }],
    });
  const increment = () =>
    inPass((pass) => {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(1);
    });
  const made = { buffer, vertices, texture, view, sampler, querySet, module, bindGroupLayout, layout };
  const run = { inEncoder, inPass, inRenderPass, inBundle, bind, increment };
  return { device, ...made, group, pipeline, renderPipeline, bundle, painting, ...run };
}
type Objects = ReturnType<typeof objectsOf>;

/** The uses of the objects of one device on another one. */
const uses: Record<string, (mine: Objects, other: Objects) => unknown> = {
  "a buffer in a bind group": ({ bind }, { buffer }) => bind({ buffer }, { buffer: { type: "storage" } }),
  "a buffer itself in a bind group": ({ bind }, { buffer }) => bind(buffer, { buffer: { type: "storage" } }),
  "a texture in a bind group": ({ bind }, { texture }) => bind(texture, { texture: {} }),
  "a view in a bind group": ({ bind }, { view }) => bind(view, { texture: {} }),
  "a sampler in a bind group": ({ bind }, { sampler }) => bind(sampler, { sampler: {} }),
  "the layout of a bind group": ({ device, buffer }, { bindGroupLayout: layout }) =>
    device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer } }] }),
  "a default layout": ({ device }, { renderPipeline }) =>
    device.createBindGroup({ layout: renderPipeline.getBindGroupLayout(0), entries: [] }),
  "a layout in the layout of a pipeline": ({ device }, { bindGroupLayout }) =>
    device.createPipelineLayout({ bindGroupLayouts: [bindGroupLayout] }),
  "the layout of a pipeline": ({ device, module }, { layout }) =>
    device.createComputePipeline({ layout, compute: { module } }),
  "the module of a pipeline": ({ device, layout }, { module }) =>
    device.createComputePipeline({ layout, compute: { module } }),
  "a module with vertices": ({ device, painting }, { module }) =>
    device.createRenderPipeline({ ...painting, vertex: { module } }),
  "a module with fragments": ({ device, painting }, other) =>
    device.createRenderPipeline({ ...painting, fragment: other.painting.fragment }),
  "a pipeline": ({ inPass }, { pipeline }) => inPass((pass) => pass.setPipeline(pipeline)),
  "a bind group": ({ inPass }, { group }) => inPass((pass) => pass.setBindGroup(0, group)),
  "the arguments of a dispatch": ({ inPass, pipeline, group }, { buffer }) =>
    inPass((pass) => {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroupsIndirect(buffer, 0);
    }),
  "a buffer to copy from": ({ inEncoder, buffer: to }, { buffer }) =>
    inEncoder((encoder) => encoder.copyBufferToBuffer(buffer, 0, to, 0, 4)),
  "a buffer to copy to": ({ inEncoder, buffer: from }, { buffer }) =>
    inEncoder((encoder) => encoder.copyBufferToBuffer(from, buffer)),
  "a buffer to clear": ({ inEncoder }, { buffer }) => inEncoder((encoder) => encoder.clearBuffer(buffer)),
  "a buffer to copy to a texture": ({ inEncoder, texture }, { buffer }) =>
    inEncoder((encoder) => encoder.copyBufferToTexture({ buffer }, { texture }, [4, 1])),
  "a buffer to copy a texture to": ({ inEncoder, texture }, { buffer }) =>
    inEncoder((encoder) => encoder.copyTextureToBuffer({ texture }, { buffer }, [4, 1])),
  "a texture to copy to a buffer": ({ inEncoder, buffer }, { texture }) =>
    inEncoder((encoder) => encoder.copyTextureToBuffer({ texture }, { buffer }, [4, 1])),
  "a texture to copy a buffer to": ({ inEncoder, buffer }, { texture }) =>
    inEncoder((encoder) => encoder.copyBufferToTexture({ buffer }, { texture }, [4, 1])),
  "a texture to copy from": ({ inEncoder, texture: to }, { texture }) =>
    inEncoder((encoder) => encoder.copyTextureToTexture({ texture }, { texture: to }, [4, 4])),
  "a texture to copy to": ({ inEncoder, texture: from }, { texture }) =>
    inEncoder((encoder) => encoder.copyTextureToTexture({ texture: from }, { texture }, [4, 4])),
  "a query set to resolve": ({ inEncoder, buffer }, { querySet }) =>
    inEncoder((encoder) => encoder.resolveQuerySet(querySet, 0, 1, buffer, 0)),
  "a buffer for results of queries": ({ inEncoder, querySet }, { buffer }) =>
    inEncoder((encoder) => encoder.resolveQuerySet(querySet, 0, 1, buffer, 0)),
  "an attachment": ({ inRenderPass }, { view }) => inRenderPass(() => {}, { view }),
  "a query set of a render pass": ({ inRenderPass }, { querySet: occlusionQuerySet }) =>
    inRenderPass(() => {}, {}, { occlusionQuerySet }),
  "a pipeline of a render pass": ({ inRenderPass }, { renderPipeline }) =>
    inRenderPass((pass) => pass.setPipeline(renderPipeline)),
  "a bind group of a render pass": ({ inRenderPass }, { group }) =>
    inRenderPass((pass) => pass.setBindGroup(0, group)),
  "vertices of a render pass": ({ inRenderPass }, { vertices }) =>
    inRenderPass((pass) => pass.setVertexBuffer(0, vertices)),
  "a bundle": ({ inRenderPass }, { bundle }) => inRenderPass((pass) => pass.executeBundles([bundle])),
  "a pipeline of a bundle": ({ inBundle }, { renderPipeline }) =>
    inBundle((bundle) => bundle.setPipeline(renderPipeline)),
  "indices of a bundle": ({ inBundle }, { vertices }) =>
    inBundle((bundle) => bundle.setIndexBuffer(vertices, "uint16")),
  "a write of the host to a buffer": ({ device }, { buffer }) =>
    device.queue.writeBuffer(buffer, 0, new Uint32Array(4)),
  "a write of the host to a texture": ({ device }, { texture }) =>
    device.queue.writeTexture({ texture }, new Uint32Array(4), {}, [4, 1]),
  "a command buffer": ({ device }, { increment }) => device.queue.submit([increment()]),
};

it.each(Object.keys(uses))("rejects %s of another hardened device", async (name) => {
  const native = await newDevice({ errorsAreExpected: true });
  const device = harden(native);
  const mine = objectsOf(device);
  const errorOf = async (owner: Objects) => {
    device.pushErrorScope("validation");
    uses[name]!(mine, owner);
    return (await device.popErrorScope())?.message;
  };
  expect(await errorOf(objectsOf(harden(native)))).toContain("which is associated with another device");
  expect(await errorOf(objectsOf(device))).toBeUndefined();
  // Belay knows nothing about objects of the plain device, and accepts them.
  expect(await errorOf(objectsOf(native))).toBeUndefined();
  native.destroy();
});

it("accepts objects of another hardened device where no fault can be detected", async () => {
  const native = await newDevice();
  const device = harden(native, { redundancy: "none" });
  const [mine, other] = [objectsOf(device), objectsOf(harden(native))];
  device.queue.writeBuffer(other.buffer, 0, new Uint32Array(WORDS).fill(7));
  const to = device.createBuffer({ size: BYTES, usage: 1 | 8 });
  device.queue.submit([mine.inEncoder((encoder) => encoder.copyBufferToBuffer(other.buffer, to))]);
  await to.mapAsync(1);
  expect([...new Uint32Array(to.getMappedRange())]).toEqual(new Array(WORDS).fill(7));
  native.destroy();
});

it("rejects an asynchronous pipeline of a module of another hardened device", async () => {
  const native = await newDevice({ errorsAreExpected: true });
  const [mine, other] = [harden(native), objectsOf(harden(native))];
  const made = mine.createComputePipelineAsync({ layout: "auto", compute: { module: other.module } });
  await expect(made).rejects.toMatchObject({ name: "GPUPipelineError", reason: "validation" });
  native.destroy();
});

it("reports the error without a scope, and recovers other work", async () => {
  const native = await newDevice({ errorsAreExpected: true });
  const device = harden(native, { injectFaults: true });
  const [mine, other] = [objectsOf(device), objectsOf(harden(native))];
  const site = device.belay.faultSites()[0]!.sites.find(({ kind }) => kind === "value")!.id;
  const place = { replica: 1, effect: { xor: 2 }, workgroup: [0, 0, 0], localIndex: 3 } as const;
  device.belay.arm({ kernel: "increment", site, ...place });
  const errors: string[] = [];
  device.addEventListener("uncapturederror", (event) => {
    event.preventDefault();
    errors.push((event as GPUUncapturedErrorEvent).error.message);
  });
  device.queue.submit([mine.increment(), other.increment()]);
  device.queue.submit([
    mine.inEncoder((encoder) => encoder.copyBufferToBuffer(mine.buffer, other.buffer)),
    mine.increment(),
  ]);
  device.queue.submit([mine.increment()]);
  const to = device.createBuffer({ size: BYTES, usage: 1 | 8 });
  device.queue.submit([mine.inEncoder((encoder) => encoder.copyBufferToBuffer(mine.buffer, to))]);
  await to.mapAsync(1);
  expect([...new Uint32Array(to.getMappedRange())]).toEqual(new Array(WORDS).fill(1));
  expect((await device.belay.report()).recoveries).toBe(1);
  expect(errors).toHaveLength(3);
  native.destroy();
});

import { harden, type Policy } from "belay-gpu";
import { describe, expect, it } from "vitest";
import { changeKernel } from "../../../../test/support/devices/changeKernel.ts";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import type { AuditReport } from "../runtime/context/auditing.ts";
import type { HardenedDevice } from "../runtime/hardenedDevice.ts";
import { flags } from "../runtime/webgpu/nativeObjects.ts";
import { auditor } from "./auditor.ts";

const { newDevice } = testDevices();
let shared: Promise<GPUDevice> | undefined;
const sharedDevice = () => {
  shared ??= newDevice();
  return shared;
};
const hardened = (device: GPUDevice, policy: Policy = { redundancy: "none" }) =>
  harden(device, { audit: auditor({ rate: 1, budget: 1, seed: 1 }), ...policy });

const [width, height] = [70, 4];
const { textureBinding, textureStorage, textureCopyDst, renderAttachment } = flags;
const grid = [5, 2] as const;
const head = `@compute @workgroup_size(16, 2) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= ${width}u) { return; }`;

/** Creates a texture, by default one that kernels store to. */
function textureOf(device: GPUDevice, descriptor: Partial<GPUTextureDescriptor>): GPUTexture {
  const given = { size: [width, height], usage: textureStorage, format: "r32uint" as const };
  return device.createTexture({ ...given, ...descriptor });
}

/** Dispatches a kernel some times, each time in a submission of its own. */
function submit(device: HardenedDevice, code: string, views: readonly GPUBindingResource[], times = 1): void {
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const entries = views.map((resource, binding) => ({ binding, resource }));
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  for (let i = 0; i < times; i++) {
    const encoder = device.createCommandEncoder();
    encodeDispatch(encoder, pipeline, group, ...grid);
    device.queue.submit([encoder.finish()]);
  }
}

async function auditOf(device: HardenedDevice): Promise<AuditReport> {
  return (await device.belay.report()).audit!;
}

describe("an audit of kernels with textures", () => {
  const formats = [
    ["rgba8unorm", "rgba8snorm", "rgba8uint", "rgba8sint"],
    ["rgba16float", "rgba16uint", "rgba16sint", "r32float"],
    ["rgba32float", "rgba32uint", "rgba32sint", "r32uint"],
    ["rg32float", "rg32uint", "rg32sint", "r32sint"],
  ] as const;

  /** Returns a kernel that stores multiples of a texture's texels to four textures. */
  const storing = (each: readonly GPUTextureFormat[]) => {
    const declarations = each.map(
      (format, i) => `@group(0) @binding(${i + 1}) var t${i}: texture_storage_2d<${format}, write>;`,
    );
    const stores = each.map((format, i) => {
      const type = /[us]int$/.exec(format)?.[0] === "uint" ? "vec4u" : format.endsWith("sint") ? "vec4i" : "";
      return `textureStore(t${i}, id.xy, ${type}(x * 3.0));`;
    });
    return `@group(0) @binding(0) var source: texture_2d<f32>;
      ${declarations.join("\n")}
      ${head} let x = textureLoad(source, id.xy, 0); ${stores.join("\n")} }`;
  };

  /** Runs such a kernel on texels between -2 and 2, and returns the audit's report. */
  const audited = async (native: GPUDevice, each: readonly GPUTextureFormat[]) => {
    const device = hardened(native);
    const source = textureOf(device, { format: "rgba32float", usage: textureBinding | textureCopyDst });
    const numbers = Float32Array.from({ length: 4 * width * height }, (_, i) => ((i * 7) % 33) / 8 - 2);
    const write = () =>
      device.queue.writeTexture({ texture: source }, numbers, { bytesPerRow: 16 * width }, [width, height]);
    write();
    submit(
      device,
      storing(each),
      [source, ...each.map((format) => textureOf(device, { format }))].map((texture) => texture.createView()),
    );
    // The audit has the texels of the time of the dispatch.
    numbers.fill(1);
    write();
    return auditOf(device);
  };

  it.each(formats.map((each) => [each.join(", "), each] as const))(
    "agrees with a right device that stores to %s",
    async (_, each) => {
      expect(await audited(await sharedDevice(), each)).toMatchObject({ agreed: 10, workgroups: 10 });
    },
  );

  it("finds texels that a compiler gets wrong", async () => {
    const wrong = changeKernel(await sharedDevice(), "t1, id.xy, (x * 3.0)", "t1, id.xy, (x * 3.5)");
    const { disagreed, disagreements } = await audited(wrong, formats[0]);
    expect(disagreed).toBe(10);
    expect(disagreements.find(({ workgroup }) => `${workgroup}` === "0,0,0")).toMatchObject({
      place: "t1, texel (0, 0, 0),",
      offset: 0,
      expected: "-1, -1, -0.7480314960629921, 1",
      actual: "-1, -1, -0.8740157480314961, 1",
      site: { line: 8, column: 1 },
    });
  });

  const inPlace = (body: string) => `@group(0) @binding(0) var t: texture_storage_2d<r32uint, read_write>;
    ${head} ${body} }`;

  it.each<Policy>([{ redundancy: "none" }, {}])(
    "agrees with a right device on textures that change in place, under %j",
    async (policy) => {
      const device = hardened(await sharedDevice(), policy);
      const views = [textureOf(device, {}).createView()];
      submit(device, inPlace("textureStore(t, id.xy, textureLoad(t, id.xy) * 3u + 1u);"), views, 3);
      expect(await auditOf(device)).toMatchObject({ agreed: 30, workgroups: 30 });
    },
  );

  it("is undecided if another workgroup stores a texel that a workgroup loads", async () => {
    const device = hardened(await sharedDevice());
    const views = [textureOf(device, {}).createView()];
    const body = "if (id.y < 2u) { textureStore(t, id.xy, textureLoad(t, id.xy + vec2u(0, 2)) + 1u); }";
    const others = "else { textureStore(t, id.xy, vec4u(id.x)); }";
    submit(device, inPlace(`${body} ${others}`), views, 1);
    const { disagreed, reasons } = await auditOf(device);
    expect(disagreed).toBe(0);
    expect(reasons).toEqual({ "another workgroup stores a word that it loads": 5 });
  });

  it("judges mip levels, layers and depths, as views show them", async () => {
    const device = hardened(await sharedDevice());
    const usage = textureStorage | textureBinding;
    const size = [2 * width, 2 * height, 3];
    const layers = textureOf(device, { size, mipLevelCount: 2, usage });
    const deep = textureOf(device, { size: [width, height, 4], dimension: "3d" });
    const level = { baseMipLevel: 1, mipLevelCount: 1, dimension: "2d" as const, arrayLayerCount: 1 };
    const depth = textureOf(device, { format: "depth32float", usage: textureBinding }).createView();
    const code = (value: string) => `@group(0) @binding(0) var t: texture_2d<u32>;
      @group(0) @binding(3) var depth: texture_depth_2d;
      @group(0) @binding(1) var out: texture_storage_2d<r32uint, write>;
      @group(0) @binding(2) var deep: texture_storage_3d<r32uint, write>;
      ${head} let x = textureLoad(t, id.xy, 0); textureStore(out, id.xy, ${value});
      textureStore(deep, vec3u(id.xy, id.x % 4u), x + id.x + u32(textureLoad(depth, id.xy, 0))); }`;
    const view = (baseArrayLayer: number) => layers.createView({ ...level, baseArrayLayer });
    submit(device, code("vec4u(id.x)"), [view(1), view(2), deep.createView(), depth]);
    submit(device, code("x * 3u"), [view(2), view(0), deep.createView(), depth]);
    expect(await auditOf(device)).toMatchObject({ agreed: 20, workgroups: 20 });
  });

  it.each([
    ["samplers", "texture_2d<f32>", "rgba8unorm", 1, "the executor does not have samplers (line 2)"],
    ["depths", "texture_depth_2d", "depth24plus", 1, 'it uses a texture of format "depth24plus"'],
    ["samples", "texture_multisampled_2d<f32>", "r32float", 4, "it uses a texture with several samples"],
  ] as const)("is undecided with %s", async (_, type, format, sampleCount, reason) => {
    const device = hardened(await sharedDevice());
    const usage = textureBinding | renderAttachment;
    const texture = textureOf(device, { format, usage, sampleCount });
    const out = textureOf(device, {}).createView();
    const load = "textureLoad(t, id.xy, 0)";
    const value = reason.includes("samplers") ? "textureSampleLevel(t, s, vec2f(), 0.0)" : load;
    const code = `@group(0) @binding(0) var t: ${type};
      @group(0) @binding(2) var s: sampler;
      @group(0) @binding(1) var out: texture_storage_2d<r32uint, write>;
      ${head} textureStore(out, id.xy, vec4u(vec4f(${value}))); }`;
    const sampler = reason.includes("samplers") ? [device.createSampler()] : [];
    submit(device, code, [texture.createView(), out, ...sampler]);
    expect((await auditOf(device)).reasons).toEqual({ [reason]: 10 });
  });
});

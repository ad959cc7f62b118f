import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { type CompilerOptions, type CompilerResult, injectionWords, reportWords } from "./contract.ts";
import { protect } from "./protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

/** Writes one texture through a function, under divergence, and adds to another in place. */
const code = `
  @group(0) @binding(0) var picture: texture_storage_2d<rgba8uint, write>;
  @group(0) @binding(1) var counts: texture_storage_2d<r32uint, read_write>;
  fn draw(at: vec2u, shade: u32) { textureStore(picture, at, vec4u(shade, at, 255u)); }
  @compute @workgroup_size(8, 4) fn main(@builtin(global_invocation_id) id: vec3u) {
    for (var i = 0u; i < id.x % 3u + 1u; i++) {
      let before = textureLoad(counts, id.xy);
      textureStore(counts, id.xy, before + vec4u(id.y + i));
    }
    if ((id.x ^ id.y) % 3u != 0u) { draw(id.xy, textureLoad(counts, id.xy).x); }
  }`;
const size = { width: 64, height: 16 };

async function draw(kernel: string | CompilerResult, armed: readonly (readonly [number, number])[] = []) {
  const module = device.createShaderModule({ code: typeof kernel === "string" ? kernel : kernel.code });
  const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
  const usage = GPUTextureUsage.STORAGE_BINDING | GPUTextureUsage.COPY_SRC;
  const textures = (["rgba8uint", "r32uint"] as const).map((format) =>
    device.createTexture({ size, format, usage }),
  );
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const reportBytes = (typeof kernel !== "string" && kernel.layout?.bytes) || 4 * reportWords.total;
  const report = device.createBuffer({ size: reportBytes, usage: STORAGE | COPY_SRC | COPY_DST });
  for (const [word, value] of armed) device.queue.writeBuffer(report, 4 * word, Uint32Array.of(value));

  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  const entries = textures.map((texture, binding) => ({ binding, resource: texture.createView() }));
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  if (typeof kernel !== "string" && kernel.layout) {
    const { group, binding } = kernel.layout;
    const layout = pipeline.getBindGroupLayout(group);
    pass.setBindGroup(
      group,
      device.createBindGroup({ layout, entries: [{ binding, resource: { buffer: report } }] }),
    );
  }
  const isInterGroup = typeof kernel !== "string" && kernel.entryPoints[0]?.interGroup !== undefined;
  pass.dispatchWorkgroups((size.width / 8) * (isInterGroup ? 2 : 1), size.height / 4);
  pass.end();
  const bytesPerRow = 4 * size.width;
  const readers = textures.map((texture) => {
    const buffer = device.createBuffer({ size: bytesPerRow * size.height, usage: MAP_READ | COPY_DST });
    encoder.copyTextureToBuffer({ texture }, { buffer, bytesPerRow }, size);
    return buffer;
  });
  const reportReader = device.createBuffer({ size: report.size, usage: MAP_READ | COPY_DST });
  encoder.copyBufferToBuffer(report, 0, reportReader, 0, report.size);
  device.queue.submit([encoder.finish()]);
  const read = async (buffer: GPUBuffer) => {
    await buffer.mapAsync(GPUMapMode.READ);
    return new Uint32Array(buffer.getMappedRange().slice(0));
  };
  return { pictures: await Promise.all(readers.map(read)), report: await read(reportReader) };
}

const configurations: CompilerOptions[] = (["store", "signature"] as const).flatMap((check) =>
  (["subgroup", "workgroup"] as const).map((channel) => ({ check, channel, features: ["subgroups"] })),
);

describe.each(configurations)("stores to textures: $check, $channel", (options) => {
  it("draw the same picture, with no detection", async () => {
    const plain = await draw(code);
    const guarded = await draw(protect(code, options));
    expect(guarded.pictures).toEqual(plain.pictures);
    expect(guarded.report[reportWords.detections]).toBe(0);
    expect(plain.pictures[0]!.some((texel) => texel !== 0)).toBe(true);
  });

  it("are compared: a struck texel is caught", async () => {
    const guarded = protect(code, { ...options, injectFaults: true });
    const site = guarded.faultSites.find(({ span }) =>
      code.slice(span.start, span.end).startsWith("vec4u(shade"),
    )!;
    const { report } = await draw(guarded, [
      [injectionWords.armedSite, site.id],
      [injectionWords.armedReplica, 1],
      [injectionWords.armedMask, 4],
      [injectionWords.armedLocalIndex, 1],
    ]);
    expect(report[injectionWords.strikes]).toBe(1);
    expect(report[reportWords.detections]).toBeGreaterThan(0);
  });
});

describe("stores to textures: inter", () => {
  // A texture has no second copy, so this one loads from none that it stores to.
  const apart = code
    .replace(/for [\s\S]*?\}\n/, "textureStore(counts, id.xy, vec4u(id.x * id.y));\n")
    .replace("textureLoad(counts, id.xy).x", "id.x % 7u");
  const cellsOf = (report: Uint32Array) => report.subarray(reportWords.total).filter((cell) => cell !== 0);

  it("draw the same picture, with all in balance", async () => {
    const plain = await draw(apart);
    const guarded = await draw(protect(apart, { redundancy: "inter" }));
    expect(guarded.pictures).toEqual(plain.pictures);
    expect([...cellsOf(guarded.report)]).toEqual([]);
    for (const picture of plain.pictures) expect(picture.some((texel) => texel !== 0)).toBe(true);
  });

  it("are compared: a struck texel is caught", async () => {
    const guarded = protect(apart, { redundancy: "inter", injectFaults: true });
    const site = guarded.faultSites.find(({ span }) =>
      apart.slice(span.start, span.end).startsWith("vec4u(shade"),
    )!;
    const { report } = await draw(guarded, [
      [injectionWords.armedSite, site.id],
      [injectionWords.armedReplica, 1],
      [injectionWords.armedMask, 4],
      [injectionWords.armedLocalIndex, 1],
    ]);
    expect(report[injectionWords.strikes]).toBe(1);
    expect(cellsOf(report)).toHaveLength(1);
  });
});

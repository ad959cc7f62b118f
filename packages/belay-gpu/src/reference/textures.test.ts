import { describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import {
  type BoundTexture,
  createReference,
  createReferenceBuffer,
  createReferenceTexture,
  type ReferenceOptions,
  type ReferenceTexture,
} from "./index.ts";
import { texelFormat } from "./texelFormats.ts";
import { bitsOf, loadBits, numberOf, storedRange } from "./texelNumbers.ts";

const devices = testDevices({ features: ["bgra8unorm-storage"] });

/** The formats of storage textures, with the scalar of their texels. */
const storageFormats: Readonly<Record<string, "f32" | "u32" | "i32">> = {
  rgba8unorm: "f32",
  rgba8snorm: "f32",
  rgba8uint: "u32",
  rgba8sint: "i32",
  rgba16uint: "u32",
  rgba16sint: "i32",
  rgba16float: "f32",
  r32uint: "u32",
  r32sint: "i32",
  r32float: "f32",
  rg32uint: "u32",
  rg32sint: "i32",
  rg32float: "f32",
  rgba32uint: "u32",
  rgba32sint: "i32",
  rgba32float: "f32",
  bgra8unorm: "f32",
};
/** Further formats that kernels load. */
const sampledFormats: Readonly<Record<string, "f32" | "u32" | "i32">> = {
  r8unorm: "f32",
  r8snorm: "f32",
  r8uint: "u32",
  r8sint: "i32",
  rg8unorm: "f32",
  rg8sint: "i32",
  r16uint: "u32",
  r16float: "f32",
  rg16float: "f32",
  rg16sint: "i32",
  "rgba8unorm-srgb": "f32",
  "bgra8unorm-srgb": "f32",
  rgb10a2unorm: "f32",
  rgb10a2uint: "u32",
  rg11b10ufloat: "f32",
  rgb9e5ufloat: "f32",
  stencil8: "u32",
  depth16unorm: "f32",
};

/** Numbers around the bounds of formats, and around their rounding. */
const written: Readonly<Record<"f32" | "u32" | "i32", string>> = {
  f32: "vec4f(-1.5 + 0.0234 * f32(i), 0.0009 * f32(i * i), f32(i) * -7.03125, 1.0 - f32(i) / 255.0)",
  u32: "vec4u(i, i * 2u, 255u - i, 3u)",
  i32: "vec4i(i32(i) - 64, -i32(i), 127 - i32(i), -128)",
};

const width = 16;
const height = 8;
/** Bytes of all values, without a float that is not finite. */
function contentsOf(format: string): Uint8Array<ArrayBuffer> {
  const { bytes } = texelFormat(format)!;
  const isFloat = /float$/.test(format);
  return Uint8Array.from({ length: width * height * bytes }, (_, i) => {
    const value = (i * 37 + (i >> 5) * 11) & 0xff;
    // The bytes with the highest bits of exponents.
    return isFloat && i % (format.includes("32") ? 4 : 2) !== 0 ? value & 0xbb : value;
  });
}

const textureUsage = () =>
  GPUTextureUsage.TEXTURE_BINDING | GPUTextureUsage.COPY_SRC | GPUTextureUsage.COPY_DST;

/** Runs a kernel on a device. Returns the texels of a texture, or the bytes of a buffer. */
async function runOnDevice(
  device: GPUDevice,
  code: string,
  workgroups: number,
  resources: readonly (GPUTextureView | GPUBuffer)[],
  result: { texture: GPUTexture; bytes: number } | GPUBuffer,
): Promise<Uint8Array> {
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const entries = resources.map((resource, binding) => ({
    binding,
    resource: "size" in resource ? { buffer: resource } : resource,
  }));
  const encoder = device.createCommandEncoder();
  encodeDispatch(
    encoder,
    pipeline,
    device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }),
    workgroups,
  );
  const size = "size" in result ? result.size : 256 * height;
  const reader = device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  if ("size" in result) encoder.copyBufferToBuffer(result, 0, reader, 0, size);
  else encoder.copyTextureToBuffer(result, { buffer: reader, bytesPerRow: 256 }, [width, height]);
  device.queue.submit([encoder.finish()]);
  await reader.mapAsync(GPUMapMode.READ);
  const padded = new Uint8Array(reader.getMappedRange().slice(0));
  if ("size" in result) return padded;
  const row = width * result.bytes;
  return Uint8Array.from({ length: row * height }, (_, i) => padded[Math.floor(i / row) * 256 + (i % row)]!);
}

function reference(source: string, options?: ReferenceOptions) {
  const made = createReference({ source }, options);
  if ("construct" in made) throw new Error(made.construct);
  return made;
}

/** Binds textures to the bindings of group 0, one after another. */
const bound = (...textures: readonly ReferenceTexture[]): BoundTexture[] =>
  textures.map((texture, binding) => ({ group: 0, binding, texture }));

describe("textures on a device and on the executor", () => {
  it.each(Object.entries(storageFormats))("store the same texels of %s", async (format, scalar) => {
    const device = await devices.newDevice();
    if (format === "bgra8unorm" && !device.features.has("bgra8unorm-storage")) return;
    const code = `@group(0) @binding(0) var t: texture_storage_2d<${format}, write>;
      @compute @workgroup_size(${width}, ${height}) fn main(@builtin(local_invocation_id) id: vec3u) {
        let i = id.y * ${width}u + id.x;
        textureStore(t, id.xy, ${written[scalar]});
        textureStore(t, vec2i(-1, i32(i)), ${written[scalar]});
      }`;
    const texture = device.createTexture({
      format: format as GPUTextureFormat,
      size: [width, height],
      usage: GPUTextureUsage.STORAGE_BINDING | GPUTextureUsage.COPY_SRC,
    });
    const { bytes } = texelFormat(format)!;
    const actual = await runOnDevice(device, code, 1, [texture.createView()], { texture, bytes });
    const expected = createReferenceTexture({ format: texture.format, size: [width, height] });
    expect(reference(code).run({ workgroups: [1, 1, 1], buffers: [], textures: bound(expected) })).toEqual(
      {},
    );
    expect(expected.wrongTexel(0, actual)).toBe(-1);
    actual[5 * bytes] = actual[5 * bytes]! ^ 4;
    expect(expected.wrongTexel(0, actual)).toBe(5);
  });

  it.each(Object.entries({ ...storageFormats, ...sampledFormats }))(
    "load the same numbers of %s",
    async (format, scalar) => {
      const device = await devices.newDevice();
      const isDepth = format.startsWith("depth");
      const type = isDepth ? "texture_depth_2d" : `texture_2d<${scalar}>`;
      const loaded = isDepth ? "vec4f(textureLoad(t, id.xy, 0))" : "textureLoad(t, id.xy, 0)";
      const code = `@group(0) @binding(0) var t: ${type};
        @group(0) @binding(1) var<storage, read_write> out: array<vec4<${scalar}>>;
        fn texel(t: ${type}, id: vec3u) -> vec4<${scalar}> { return ${loaded}; }
        @compute @workgroup_size(${width}, ${height}) fn main(@builtin(local_invocation_id) id: vec3u) {
          out[id.y * ${width}u + id.x] = texel(t, id);
        }`;
      const texture = device.createTexture({
        format: format as GPUTextureFormat,
        size: [width, height],
        usage: textureUsage(),
      });
      const contents = contentsOf(format);
      const layout = { bytesPerRow: width * texelFormat(format)!.bytes };
      device.queue.writeTexture({ texture }, contents, layout, [width, height]);
      const out = device.createBuffer({
        size: 16 * width * height,
        usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC,
      });
      const actual = new Uint32Array(
        (await runOnDevice(device, code, 1, [texture.createView(), out], out)).buffer,
      );
      const image = createReferenceTexture({ format: texture.format, size: [width, height] }, [contents]);
      for (const floats of ["intervals", "nearest"] as const) {
        const buffer = createReferenceBuffer(new Uint32Array(out.size / 4));
        reference(code, { floats }).run({
          workgroups: [1, 1, 1],
          buffers: [{ group: 0, binding: 1, buffer }],
          textures: bound(image),
        });
        if (floats === "intervals")
          expect([...actual.keys()].filter((i) => !buffer.allows(4 * i, actual[i]!))).toEqual([]);
        else if (scalar !== "f32") expect(new Uint32Array(buffer.bytes.buffer)).toEqual(actual);
      }
    },
  );

  it.each([
    ["1d", "texture_1d<u32>", "id.x % 8u", "", [8, 1, 1], {}],
    [
      "2d of one layer",
      "texture_2d<u32>",
      "vec2u(id.x % 4u, id.x / 4u)",
      "",
      [8, 4, 3],
      { baseArrayLayer: 2, arrayLayerCount: 1, dimension: "2d", baseMipLevel: 1 },
    ],
    [
      "2d-array",
      "texture_2d_array<u32>",
      "vec2u(id.x % 4u, id.x / 8u)",
      "id.x & 1u, ",
      [8, 4, 3],
      { baseArrayLayer: 1 },
    ],
    ["3d", "texture_3d<u32>", "vec3u(id.x % 4u, id.x / 8u, id.x & 1u)", "", [8, 4, 4], {}],
  ] as const)("have the same sizes and levels: %s", async (name, type, at, layer, size, view) => {
    const device = await devices.newDevice();
    const dimension = name.startsWith("2d") ? "2d" : (name as GPUTextureDimension);
    const levels = dimension === "1d" ? 1 : 2;
    const further = name === "2d-array" ? "out[13] = textureNumLayers(t);" : "";
    const code = `@group(0) @binding(0) var t: ${type};
      @group(0) @binding(1) var<storage, read_write> out: array<u32, 16>;
      @compute @workgroup_size(8) fn main(@builtin(local_invocation_id) id: vec3u) {
        out[id.x] = textureLoad(t, ${at}, ${layer}${levels === 2 && name !== "2d of one layer" ? "(id.x + 1u) % 2u * 0u" : "0"}).x;
        if (id.x == 0u) {
          let size = textureDimensions(t, ${levels === 2 && name !== "2d of one layer" ? 1 : 0});
          out[8] = ${dimension === "1d" ? "size" : "size.x"};
          ${dimension === "1d" ? "" : "out[9] = size.y;"}
          ${dimension === "3d" ? "out[10] = size.z;" : ""}
          out[12] = textureNumLevels(t);
          ${further}
        }
      }`;
    const texture = device.createTexture({
      format: "r32uint",
      size: [...size],
      dimension,
      mipLevelCount: levels,
      usage: textureUsage(),
    });
    const contents = Array.from({ length: levels }, (_, mipLevel) => {
      const [x, y, z] = size.map((each, i) =>
        i === 2 && dimension === "2d" ? each : Math.max(each >> mipLevel, 1),
      ) as [number, number, number];
      const words = Uint32Array.from({ length: x * y * z }, (__, i) => 1000 * mipLevel + i);
      device.queue.writeTexture({ texture, mipLevel }, words, { bytesPerRow: 4 * x, rowsPerImage: y }, [
        x,
        y,
        z,
      ]);
      return new Uint8Array(words.buffer);
    });
    const out = device.createBuffer({ size: 64, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC });
    const actual = await runOnDevice(device, code, 1, [texture.createView(view), out], out);
    const buffer = createReferenceBuffer(new Uint32Array(16));
    const image = createReferenceTexture(
      { format: "r32uint", size, dimension, mipLevelCount: levels },
      contents,
    );
    reference(code).run({
      workgroups: [1, 1, 1],
      buffers: [{ group: 0, binding: 1, buffer }],
      textures: [{ group: 0, binding: 0, texture: image, ...view }],
    });
    expect(new Uint32Array(buffer.bytes.buffer)).toEqual(new Uint32Array(actual.buffer));
  });
});

describe("a texture on the executor", () => {
  const run = (body: string, textures: BoundTexture[], options?: ReferenceOptions) => {
    const type = body.includes("samples")
      ? "texture_multisampled_2d<u32>"
      : "texture_storage_2d<r32uint, read_write>";
    const buffer = createReferenceBuffer(new Uint32Array(4));
    const outcome = reference(
      `@group(0) @binding(0) var t: ${type};
       @group(0) @binding(1) var<storage, read_write> out: array<u32>;
       @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) { ${body} }`,
      options,
    ).run({ workgroups: [1, 1, 1], buffers: [{ group: 0, binding: 1, buffer }], textures });
    return { ...outcome, out: [...new Uint32Array(buffer.bytes.buffer)] };
  };
  const texture = (size: [number, number], sampleCount = 1) =>
    createReferenceTexture({ format: "r32uint", size, sampleCount }, [
      new Uint8Array(Uint32Array.from({ length: size[0] * size[1] * sampleCount }, (_, i) => 10 + i).buffer),
    ]);

  it("has the samples of each texel", () => {
    const body = "out[i] = textureLoad(t, vec2u(i / 2u, 0u), i % 2u).x * textureNumSamples(t); // samples";
    expect(run(`${body}\n`, bound(texture([2, 1], 2))).out).toEqual([20, 22, 24, 26]);
  });

  it("leaves a load out of bounds open", () => {
    const body = "out[i] = textureLoad(t, vec2u(i, 0u)).x;";
    expect(run(body, bound(texture([3, 1]))).undecided?.reason).toBe("an index is out of bounds");
  });

  it.each([
    ["with a barrier", "textureBarrier();", undefined],
    ["without one", "", "invocations race for memory"],
  ])("sees stores of other invocations %s", (_, barrier, reason) => {
    const body = `textureStore(t, vec2u(i, 0u), vec4u(i)); ${barrier} out[i] = textureLoad(t, vec2u((i + 1u) % 4u, 0u)).x;`;
    const { undecided, out } = run(body, bound(texture([4, 1])), { detectRaces: true });
    expect(undecided?.reason).toBe(reason);
    if (!reason) expect(out).toEqual([1, 2, 3, 0]);
  });

  it("is refused with another format, and without one that it knows", () => {
    const other = createReferenceTexture({ format: "r32sint", size: [4, 1] });
    const message = '"t" needs a texture of format "r32uint", not "r32sint"';
    expect(() => run("textureStore(t, vec2u(), vec4u(out[0]));", bound(other))).toThrow(message);
    expect(() => run("textureStore(t, vec2u(), vec4u(out[0]));", [])).toThrow('no texture is bound to "t"');
    expect(() => createReferenceTexture({ format: "bc1-rgba-unorm", size: [4, 4] })).toThrow(
      'does not have textures of format "bc1-rgba-unorm"',
    );
  });

  it.each([
    ["rgba8uint", [300, 7], [255, 7]],
    ["rgba8sint", [-300, 300], [-128, 127]],
    ["rgb10a2uint", [4e9, 1023], [1023, 1023]],
    ["rgba8unorm", [-1, 2], [0, 1]],
    ["rgba8snorm", [-9, 0.5], [-1, 64 / 127]],
    ["rg11b10ufloat", [-1, 1.007], [0, 1]],
    ["r16float", [0.1, 65519], [1638 / 16384, 65504]],
  ])("stores a number out of the range of %s as the nearest one", (format, given, expected) => {
    const [channel] = texelFormat(format)!.channels;
    const stored = given.map((x) => storedRange(channel!, x, x, false));
    expect(stored).toEqual(expected.map((x) => ({ low: x, high: x })));
  });

  it("stores a number between two of a format as either of them", () => {
    const rangeOf = (format: string, x: number) => storedRange(texelFormat(format)!.channels[0]!, x, x, true);
    expect(rangeOf("rgba8unorm", 0.5)).toEqual({ low: 127 / 255, high: 128 / 255 });
    expect(rangeOf("rgba8unorm", 0.2501)).toEqual({ low: 64 / 255, high: 64 / 255 });
    expect(rangeOf("r16float", 1.0001)).toEqual({ low: 1, high: 1 + 2 ** -10 });
    expect(rangeOf("r16float", 1e6).low).toBeNaN();
  });

  it.each(["rgb10a2unorm", "rg11b10ufloat", "r16snorm", "rgba16unorm", "rg16float"])(
    "stores each number of %s as itself",
    (format) => {
      const { channels, bytes } = texelFormat(format)!;
      const view = new DataView(new ArrayBuffer(bytes));
      for (let i = 0; i < 2000; i++) {
        for (let at = 0; at < bytes; at++) view.setUint8(at, (i * 73 + at * 151 + (i >> 3)) & 0xff);
        for (const channel of channels) {
          const stored = loadBits(view, 0, channel);
          const x = numberOf(channel, stored, view, 0);
          // The least number of snorm has a second pattern.
          if (!Number.isFinite(x) || x === -1) continue;
          for (const chooses of [false, true])
            expect(storedRange(channel, x, x, chooses)).toEqual({ low: x, high: x });
          expect(bitsOf(channel, x)).toBe(stored);
        }
      }
    },
  );
});

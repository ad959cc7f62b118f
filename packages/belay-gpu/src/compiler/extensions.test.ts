/**
 * Kernels with each extension of WGSL that Dawn has: Belay types and prints them, and Dawn accepts
 * them before and after they are protected.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DawnValidator, startDawn } from "../../../../test/support/wgsl/dawnValidator.ts";
import { parse } from "../wgsl/parser.ts";
import { print } from "../wgsl/printer.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import type { CompilerOptions } from "./contract.ts";
import { protect } from "./protect.ts";

let dawn: DawnValidator;
beforeAll(async () => {
  dawn = await startDawn();
});
afterAll(() => dawn.close());

const out = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;";
const main = (body: string, parameters = "") =>
  `@compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32${parameters}) { ${body} }`;
const floats = "@group(0) @binding(1) var<storage, read_write> floats: array<f32>;";
const memory = "@group(0) @binding(0) var<storage, read_write> memory: buffer;";
const matrices = `enable chromium_experimental_subgroup_matrix; diagnostic(off, chromium.subgroup_matrix_uniformity); ${floats}`;
const [left, right, sum] = ["left", "right", "result"].map((side) => `subgroup_matrix_${side}<f32, 8, 8>`);

/** The kernels that `auto` protects. */
const followed: Record<string, string> = {
  texel_buffers: `requires texel_buffers; ${out}
    @group(0) @binding(1) var texels: texel_buffer<r32uint, read_write>;
    @group(0) @binding(2) var others: texel_buffer<rgba8unorm, read>;
    ${main("out[i] = textureLoad(texels, i).x + u32(textureLoad(others, 1).y) + textureDimensions(others); textureStore(texels, i, vec4(i));")}`,
  sized_binding_array: `requires sized_binding_array; ${out}
    @group(0) @binding(1) var pictures: binding_array<texture_2d<f32>, 4>;
    @group(0) @binding(2) var<storage, read_write> next: atomic<u32>;
    fn width(list: binding_array<texture_2d<f32>, 4>, at: u32) -> u32 { return textureDimensions(list[at]).x; }
    ${main("out[i] = width(pictures, 2) + u32(textureLoad(pictures[1], vec2(i), 0).x);")}`,
  atomic_vec2u_min_max: `enable atomic_vec2u_min_max;
    struct Best { count: u32, both: array<atomic<vec2u>, 2> }
    @group(0) @binding(0) var<storage, read_write> best: Best;
    ${main("atomicStoreMax(&best.both[i % 2], vec2(i, 7)); let p = &best.both[0]; atomicStoreMin(p, vec2u());")}`,
  immediate_address_space: `requires immediate_address_space; ${out}
    struct Size { width: u32, at: vec2u } var<immediate> size: Size;
    ${main("out[i * size.width] = size.at.y;")}`,
  multisampled_array_textures: `requires multisampled_array_textures; ${out}
    @group(0) @binding(1) var layers: texture_multisampled_2d_array<u32>;
    ${main("out[i] = textureLoad(layers, vec2(i), 1, 2).x + textureNumLayers(layers) + textureNumSamples(layers) + textureDimensions(layers).y;")}`,
  chromium_print: `requires chromium_print; ${out} ${main("print(i); print(vec2f(0.5)); out[i] = 1;")}`,
  "buffer_view, lengths": `requires buffer_view; ${out}
    @group(0) @binding(1) var<storage, read> memory: buffer;
    ${main("out[i] = bufferLength(&memory);")}`,
  buffer_view: `requires buffer_view; ${memory}
    struct Part { count: u32, rest: array<u32> }
    @group(0) @binding(1) var<uniform> header: buffer<64>;
    @group(0) @binding(2) var<storage, read_write> all: buffer;
    var<workgroup> scratch: buffer<256>;
    fn store(p: ptr<storage, Part, read_write>, i: u32) { (*p).rest[i] = i; }
    fn add(p: ptr<storage, buffer, read_write>, i: u32) { let at = 8; bufferArrayView<array<vec2u>>(p, at, 16)[i].y += i; }
    ${main(`let part = bufferView<Part>(&all, 0); store(part, i); part.count = bufferLength(&header); add(&memory, i);
      let list = bufferView<array<f32>>(&memory, 64u); bufferView<vec2u>(&memory, 0).y = arrayLength(&part.rest);
      list[i] = bufferView<vec4f>(&header, 0).y + *bufferView<f32>(&scratch, 4);`)}`,
  texture_and_sampler_let: `requires texture_and_sampler_let; ${out}
    @group(0) @binding(1) var picture: texture_2d<u32>;
    ${main("let copy = picture; out[i] = textureLoad(copy, vec2(i), 0).x;")}`,
  linear_indexing: `requires linear_indexing; ${out}
    ${main("out[all + group] = i;", ", @builtin(global_invocation_index) all: u32, @builtin(workgroup_index) group: u32")}`,
  "subgroup_id and subgroup_uniformity": `enable subgroups; requires subgroup_id, subgroup_uniformity; ${out}
    ${main("if (id == 0) { out[i] = subgroupAdd(i) + count; }", ", @builtin(subgroup_id) id: u32, @builtin(num_subgroups) count: u32")}`,
  subgroup_size_control: `enable subgroups, subgroup_size_control; ${out}
    @compute @workgroup_size(32) @subgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) { out[i] = subgroupMax(i); }`,
  swizzle_assignment: `requires swizzle_assignment; ${out} ${main("var v = vec4u(); v.zx = vec2(i, 1); out[i] = v.x + v.z;")}`,
  texture_formats_tier1: `requires texture_formats_tier1;
    @group(0) @binding(0) var texels: texture_storage_2d<rg8snorm, write>;
    ${main("textureStore(texels, vec2(i), vec4(0.5));")}`,
  uniform_buffer_standard_layout: `requires uniform_buffer_standard_layout; ${out}
    @group(0) @binding(1) var<uniform> sizes: array<u32, 5>;
    ${main("out[i] = sizes[i % 5];")}`,
  chromium_experimental_resource_table: `enable chromium_experimental_resource_table; ${out}
    ${main("if (hasResource<texture_2d<u32>>(i)) { out[i] = textureLoad(getResource<texture_2d<u32>>(i), vec2(i), 0).x; }")}`,
};

/** The kernels that only `inter` with comparison before stores protects, and so `auto`. */
const compared: Record<string, string> = {
  chromium_experimental_subgroup_matrix: `${matrices}
    ${main(`let a = subgroupMatrixLoad<${left}>(&floats, 0, false, 8); var b: ${right};
      b = subgroupMatrixScalarAdd(b, 1); b = subgroupMatrixScalarMultiply(subgroupMatrixScalarSubtract(b, 0.5f), 2f);
      let c = subgroupMatrixMultiplyAccumulate(a, b, subgroupMatrixMultiply<f32>(a, b));
      var list = array<${sum}, 2>(c, ${sum}()); list[1] = ${sum}(3);
      subgroupMatrixStore(&floats, 64, list[i % 2], true, 8);`)}`,
  "subgroup matrices of bytes": `${matrices} ${out}
    ${main(`let a = subgroupMatrixLoad<subgroup_matrix_left<u8, 8, 8>, row_major>(&out, 0, 2);
      let b = subgroup_matrix_right<u8, 8, 8>(); subgroupMatrixStore<row_major>(&out, 0, subgroupMatrixMultiply<u32>(a, b), 8);`)}`,
  "orders of subgroup matrices": `${matrices}
    ${main(`let a = subgroupMatrixLoad<${left}, row_major>(&floats, 0, 8); subgroupMatrixStore<col_major>(&floats, 64, a, 8);`)}`,
  "subgroup matrices in arrays of vectors": `enable f16; ${matrices}
    @group(0) @binding(2) var<storage, read_write> pairs: array<vec2i, 512>;
    @group(0) @binding(3) var<storage, read_write> triples: array<vec3f>;
    @group(0) @binding(4) var<storage, read_write> halves: array<vec3h>;
    ${main(`subgroupMatrixStore<row_major>(&pairs, 0, ${left}(), arrayLength(&triples));
      subgroupMatrixStore<col_major>(&triples, i * 0, subgroupMatrixLoad<${sum}, row_major>(&triples, 64, 4), 4i);
      subgroupMatrixStore<row_major>(&halves, 0, subgroup_matrix_left<u8, 8, 8>(), 4);`)}`,
  "a product of subgroup matrices in place": `enable chromium_experimental_subgroup_matrix; ${floats}
    fn product(at: u32) -> ${sum} {
      return subgroupMatrixMultiplyAccumulate(subgroupMatrixLoad<${left}>(&floats, at, false, 8), ${right}(), subgroupMatrixLoad<${sum}>(&floats, at + 64, true, 8));
    }
    ${main("for (var k = 0u; k < group.x; k++) { subgroupMatrixStore(&floats, k * 64, product(k * 64), false, 8); }", ", @builtin(workgroup_id) group: vec3u, @builtin(subgroup_id) id: u32")}`,
};

/** The kernels that are left alone (BELAY220). */
const opaque: Record<string, string> = {
  "subgroup matrices of bytes without a named order": `${matrices} ${out}
    ${main(`let a = subgroupMatrixLoad<subgroup_matrix_left<u8, 8, 8>>(&out, 0, false, 8);
      let b = subgroup_matrix_right<u8, 8, 8>(); subgroupMatrixStore(&out, 0, subgroupMatrixMultiply<u32>(a, b), false, 8);`)}`,
  "a subgroup matrix among vectors": `${matrices} @group(0) @binding(2) var<storage, read_write> triples: array<vec3f>;
    ${main(`subgroupMatrixStore<row_major>(&triples, 0, ${sum}(), 4); triples[i] = vec3f();`)}`,
  "a subgroup matrix at a pointer to vectors": `${matrices} @group(0) @binding(2) var<storage, read_write> triples: array<vec3f>;
    ${main(`let p = &triples; subgroupMatrixStore<row_major>(p, 0, ${sum}(), 4);`)}`,
  "a subgroup matrix among vectors of another kernel": `${matrices} @group(0) @binding(2) var<storage, read_write> triples: array<vec3f>;
    ${main(`subgroupMatrixStore<row_major>(&triples, 0, ${sum}(), 4);`)}
    fn other() { triples[0].x = 1; }`,
  "a subgroup matrix that few store": `${matrices}
    ${main(`var m: ${sum}; if (i < 4) { subgroupMatrixStore(&floats, 64, m, true, 8); }`)}`,
  "a subgroup matrix after some have left": `${matrices}
    ${main(`var m: ${sum}; if (i == 7) { return; } subgroupMatrixStore(&floats, 64, m, true, 8);`)}`,
  "buffer_view, an offset at run time": `requires buffer_view; ${memory}
    ${main("let list = bufferArrayView<array<f32>>(&memory, i * 4, 32u); list[0] = 1;")}`,
  "buffer_view, bytes with two types": `requires buffer_view; ${memory}
    ${main("*bufferView<vec4f>(&memory, 0) = vec4f(); *bufferView<u32>(&memory, 12) = 1;")}`,
};

const features = ["subgroups", "shader-f16"];
const interByStore: CompilerOptions = { redundancy: "inter", check: "store" };
const auto: CompilerOptions = { redundancy: "auto" };
const ways: readonly CompilerOptions[] = [
  auto,
  {},
  { check: "store", channel: "workgroup" },
  { pairing: "passes" },
  { pairing: "subgroups", subgroupMaxSize: 8 },
  interByStore,
  { ...interByStore, memory: "secded128" },
  { redundancy: "inter" },
  { redundancy: "none", memory: "secded128" },
  { redundancy: "auto", memory: "checksum", injectFaults: true, strikeMachinery: true },
];

describe.each(Object.entries({ ...followed, ...compared, ...opaque }))("a kernel with %s", (name, source) => {
  it("is valid before and after it is printed and protected", async () => {
    const { module, diagnostics } = parse(source);
    expect([...diagnostics, ...resolve(module).diagnostics]).toEqual([]);
    const results = ways.map((way) => protect(source, { features, ...way }));
    const codes = new Set([source, print(module), ...results.map(({ code }) => code)]);
    const verdicts = await dawn.validateAll([...codes]);
    expect(verdicts.filter(({ ok }) => !ok)).toEqual([]);
    const isWithMatrices = Object.hasOwn(compared, name);
    const isProtected = results.map(({ entryPoints }) => entryPoints[0]!.redundancy !== "none");
    expect(isProtected[0]).toBe(!Object.hasOwn(opaque, name));
    const fits = (way: CompilerOptions) => way === auto || way === interByStore;
    if (isWithMatrices) expect(isProtected).toEqual(ways.map(fits));
    for (const [i, { code, diagnostics }] of results.entries()) {
      const isRefused = Object.hasOwn(opaque, name) || (isWithMatrices && !fits(ways[i]!));
      if (!isRefused) continue;
      expect(code).toBe(source);
      expect(diagnostics.map((each) => each.code)).toContain("BELAY220");
    }
  });
});

const refusals: readonly (readonly [string, string])[] = [
  [
    "let x = bufferView<f32>(&out, 0);",
    "no overload of `bufferView` takes `(ptr<storage, array<u32>, read_write>, abstract-int)`",
  ],
  ["let x = bufferView(&out, 0);", "`bufferView` takes 1 template argument, found 0"],
  ["let x = bufferView<f32>(&out);", "`bufferView` takes 2 arguments, found 1"],
  [
    "let x = subgroupMatrixMultiply<f32>(1, 2);",
    "no overload of `subgroupMatrixMultiply` takes `(abstract-int, abstract-int)`",
  ],
  ["var m: subgroup_matrix_left<bool, 8, 8>;", "expected the type of a component in this template list"],
  ["var m: subgroup_matrix_left<f32, 8>;", "`subgroup_matrix_left` takes 3 template arguments, found 2"],
  ["let x = getResource<u32>(0);", "no overload of `getResource` takes `(abstract-int)`"],
  [
    "let m = subgroup_matrix_left<f32, 8, 8>(true, 1);",
    "cannot construct `subgroup_matrix_left<f32, 8, 8>` from `(bool, abstract-int)`",
  ],
];

it.each(refusals)("reports what is wrong with %s", (statement, message) => {
  const { module } = parse(`${out} ${main(statement)}`);
  expect(resolve(module).diagnostics.map((each) => each.message)).toEqual([message]);
});

it.each([
  ["binding_array<u32, 4>", "`u32` cannot be bound as an array"],
  ["atomic<vec2f>", "`vec2<f32>` cannot be atomic"],
  ["buffer<0>", "expected a positive element count in this template list"],
])("refuses the type %s", (type, message) => {
  const { module } = parse(`@group(0) @binding(0) var<storage, read_write> x: ${type};`);
  expect(resolve(module).diagnostics.map((each) => each.message)).toEqual([message]);
});

import { it } from "vitest";
import { goldens, report, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import { functionsOf, reachableFrom } from "../../analysis/callGraph.ts";
import { addressSpaceOf } from "../../analysis/places.ts";
import { type SchemeName, schemes } from "../../ecc/scheme.ts";
import { expandSwizzles } from "../normalize/expandSwizzles.ts";
import { normalizeAccesses } from "../normalize/normalizeAccesses.ts";
import { resolvePointers } from "../normalize/resolvePointers.ts";
import { protectMemory } from "./protectMemory.ts";

const golden = goldens("protectMemory");
/** Checks all buffers of `main`. */
const check =
  (scheme: SchemeName): Step =>
  (program, names) => {
    const main = functionsOf(program).filter(({ name }) => name === "main");
    const buffers = program.module.declarations.filter(
      (each) => each.kind === "globalVariable" && /storage|uniform/.test(addressSpaceOf(each)),
    );
    const coded = buffers.flatMap((each, index) =>
      "name" in each && each.name !== names.the("report")
        ? [[each.name, { name: each.name, index, scheme: schemes[scheme] }] as const]
        : [],
    );
    return protectMemory(program, names, {
      arena: { group: 1, binding: 1 },
      table: { group: 1, binding: 2 },
      rows: coded.length,
      kernels: [
        {
          entryPoint: "main",
          arena: "read_write",
          functions: reachableFrom(program, main),
          checked: new Map(coded),
        },
      ],
    });
  };
const checked = (name: string, scheme: SchemeName, wgsl: string) =>
  golden(name, wgsl, resolvePointers, normalizeAccesses, expandSwizzles, report(), check(scheme));

it("lets loads run ahead, as far as they depend on nothing that comes before", () =>
  checked(
    "loads that run ahead",
    "secded128",
    `@group(0) @binding(0) var<storage, read> a: array<f32>;
    @group(0) @binding(1) var<storage, read> b: array<vec4u>;
    @group(0) @binding(2) var<storage, read_write> out: array<vec4f>;
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
      let first = a[i] + a[i + 1u];
      var all = vec4f(b[b[i].y]);
      all.x += a[5];
      let last = a[u32(all.x)];
      var here = i;
      let pointer = &here;
      here += 1u;
      all.y = a[*pointer];
      if (i < arrayLength(&a) && a[2u * i] > first) { out[i] = all * last; }
    }`,
  ));

it("lets statements that branch or repeat run before a look, where they can run again", () =>
  checked(
    "statements that run again",
    "secded32",
    `@group(0) @binding(0) var<storage, read> a: array<f32>;
    @group(0) @binding(1) var<storage, read> lengths: array<u32>;
    @group(0) @binding(2) var<storage, read_write> out: array<f32>;
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
      var sum = 0.0;
      let width = lengths[0];
      if (i > width) { sum += a[i - width]; }
      var least: f32;
      for (var k = 0u; k < 8u; k++) { least = min(least, a[i + k]); }
      out[i] = sum + least;
      // As long as what was loaded says, so that has to be right first.
      for (var k = lengths[i]; k < width; k += lengths[k]) { sum += a[k]; }
      for (var k = 0u; k < width; k++) { if (a[k] > sum) { break; } }
      if (i > 1u) { out[i - 1u] = a[i]; }
    }`,
  ));

it("leaves what functions load to whoever calls them, and stores to workgroup memory behind all of it", () =>
  checked(
    "functions that load",
    "secded32",
    `@group(0) @binding(0) var<storage, read> a: array<f32>;
    @group(0) @binding(1) var<storage, read_write> out: array<f32>;
    var<workgroup> tile: array<f32, 128>;
    fn load(i: u32) -> f32 { if (i >= 100u) { return 0.0; } return a[i]; }
    fn kept(i: u32) -> f32 { return tile[i] + a[i]; }
    fn some(count: u32) -> f32 {
      var sum = 0.0;
      for (var k = 0u; k < count; k++) { sum += a[k]; }
      return sum;
    }
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
      tile[i] = load(i);
      tile[i + 64u] = load(i + 64u);
      out[i] = kept(i) + some(i);
    }`,
  ));

it("looks at what lanes exchange before they do, as the others could not run again", () =>
  checked(
    "exchanges of what was loaded",
    "secded32",
    `enable subgroups;
    diagnostic(off, subgroup_uniformity);
    @group(0) @binding(0) var<storage, read> a: array<f32>;
    @group(0) @binding(1) var<storage, read_write> out: array<f32>;
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
      let first = a[i];
      var sum = subgroupAdd(first);
      if (i > 1u) { sum += a[i - 1u]; }
      out[i] = sum;
    }`,
  ));

it("takes what must be uniform as it is, and loads the granules of uniform buffers once", () =>
  checked(
    "uniform values",
    "secded128",
    `struct Shape { rows: u32, columns: u32, scale: vec3f, last: f32 }
    @group(0) @binding(0) var<uniform> shape: Shape;
    @group(0) @binding(1) var<storage, read> sizes: array<u32>;
    @group(0) @binding(2) var<storage, read_write> out: array<vec4f>;
    var<workgroup> tile: array<f32, 64>;
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
      for (var row = 0u; row < shape.rows + sizes[3]; row++) {
        tile[i] = shape.scale.y * shape.last;
        workgroupBarrier();
      }
      out[i * shape.columns] = vec4f(tile[63u - i]);
    }`,
  ));

it("stores whole granules, with the padding that they had", () =>
  checked(
    "structs with padding",
    "secded128",
    `struct Part { at: vec3f, m: mat2x3f, list: array<vec2u, 2>, long: array<u32, 100> }
    @group(0) @binding(0) var<storage, read> source: array<Part>;
    @group(0) @binding(1) var<storage, read_write> to: array<Part>;
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
      to[i] = source[i + 1u];
      to[i].at = source[i].m[i];
      to[0].m[1] = source[2].at;
    }`,
  ));

it("checks halves, and each word by itself", () =>
  checked(
    "halves",
    "secded32",
    `enable f16;
    struct Halves { one: f16, pair: vec2h, three: vec3h, all: array<vec4h, 2> }
    @group(0) @binding(0) var<storage, read> source: array<Halves>;
    @group(0) @binding(1) var<storage, read> halves: array<f16>;
    @group(0) @binding(2) var<storage, read_write> to: array<Halves>;
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
      var all = source[i];
      all.one += halves[i] * source[i].three[i];
      to[i] = all;
      to[i].pair = vec2h(halves[3], to[i].one);
    }`,
  ));

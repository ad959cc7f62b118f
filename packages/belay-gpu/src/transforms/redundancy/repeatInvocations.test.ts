import { describe, it } from "vitest";
import { goldens, report, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import { Comparison } from "./comparison/comparison.ts";
import { repeatInvocations } from "./repeatInvocations.ts";

const golden = goldens("repeatInvocations");
const repeat: Step = (program, names) =>
  repeatInvocations(program, names, {
    entryPoints: new Set(["main"]),
    keepingLanes: new Set(),
    comparison: new Comparison(names, { channel: "workgroup", pairing: "passes", lanes: "64u" }),
  });
const repeatInPlace: Step = (program, names) =>
  repeatInvocations(program, names, {
    entryPoints: new Set(["main"]),
    keepingLanes: new Set(["main"]),
    comparison: new Comparison(names, { channel: "subgroup", pairing: "passes", lanes: "64u" }),
  });
const repeated = (name: string, wgsl: string) => golden(name, wgsl, report(), repeat);
const builtins = `@builtin(local_invocation_id) l: vec3u, @builtin(local_invocation_index) i: u32,
  @builtin(global_invocation_id) g: vec3u, @builtin(workgroup_id) w: vec3u, @builtin(num_workgroups) n: vec3u`;

describe("swaps the lanes of a workgroup", () => {
  it.each([
    ["an even row", "64"],
    ["even rows", "4, 3"],
    ["odd rows", "3, 4"],
    ["an odd number", "3, 5"],
    ["one invocation", "1"],
    ["a size that overrides decide", "width, 2"],
  ])("with %s", (name, size) =>
    repeated(name, `override width = 4; @compute @workgroup_size(${size}) fn main(${builtins}) {}`),
  );
});

it("keeps lanes where neighbors matter", () =>
  golden(
    "kept lanes",
    `enable subgroups; requires subgroup_id;
    @compute @workgroup_size(16, 4) fn main(${builtins}, @builtin(subgroup_invocation_id) s: u32, @builtin(subgroup_id) id: u32) {
      _ = subgroupAdd(s);
    }`,
    report(),
    repeatInPlace,
  ));

describe("between the passes", () => {
  it("sets workgroup memory to zero", () =>
    repeated(
      "workgroup memory",
      `struct Part { at: vec3f, flags: array<vec2<bool>, 4> }
      struct Bins { total: atomic<u32>, parts: array<Part, 2>, all: array<array<atomic<i32>, 3>, 2> }
      override width = 4;
      var<workgroup> one: bool;
      var<workgroup> m: mat4x3f;
      var<workgroup> tile: array<array<array<f32, 16>, 1>, 17>;
      var<workgroup> rows: array<array<vec2h, 4>, width>;
      var<workgroup> bins: Bins;
      var<workgroup> all: array<Bins, 5>;
      var<workgroup> elsewhere: u32;
      fn f() { _ = &one; _ = &m; _ = &tile; _ = &rows; _ = &bins; _ = &all; }
      fn g() { elsewhere = 1u; }
      @compute @workgroup_size(8, 8) fn main() { f(); }`.replace(/^/, "enable f16; "),
    ));

  it("initializes private variables again", () =>
    repeated(
      "private variables",
      `override start = 2u;
      var<private> count: u32;
      var<private> seen: array<u32, 2> = array(start, 4u);
      var<private> half = 0.5;
      @compute @workgroup_size(64) fn main() { count += seen[0]; half *= 2; }`,
    ));

  it("initializes variables of functions again", () =>
    repeated(
      "variables of functions",
      `struct Part { at: vec3f, rows: array<mat2x2f, 2> }
      alias Four = array<u32, 4>;
      @compute @workgroup_size(64) fn main() {
        var count: u32;
        var list: Four;
        { var part: Part; if (count == 0u) { var m: mat4x3f; m[0] = part.at; } }
        for (var i: i32; i < 3; i++) { count++; list[i]++; }
      }`,
    ));

  it("calls a body that has variables without initializer in loops", () =>
    repeated(
      "variables in loops",
      `@compute @workgroup_size(64) fn main() { for (var i: i32; i < 3; i++) { var count: u32; count++; } }`,
    ));

  it("waits where a kernel works in place", () =>
    repeated(
      "in place",
      `@group(0) @binding(0) var<storage, read_write> a: array<u32>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { let v = a[id.x]; a[id.x] = v + 1u; }`,
    ));
});

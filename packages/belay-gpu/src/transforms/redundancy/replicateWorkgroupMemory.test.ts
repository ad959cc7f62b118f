import { describe, expect, it } from "vitest";
import { applySteps, goldens, report, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import { functionsOf } from "../../analysis/callGraph.ts";
import { addressSpaceOf } from "../../analysis/places.ts";
import { normalizeAccesses } from "../normalize/normalizeAccesses.ts";
import { Comparison } from "./comparison/comparison.ts";
import type { Pairing } from "./pairing.ts";
import { replicateWorkgroupMemory } from "./replicateWorkgroupMemory.ts";
import { CheckSites } from "./reportBuffer.ts";

const golden = goldens("replicateWorkgroupMemory");
const declared = report({ group: 0 });
const replicate =
  ({ sites = new CheckSites(), pairing = "adjacent" as Pairing } = {}): Step =>
  (program, names) =>
    replicateWorkgroupMemory(program, names, {
      pairing,
      comparison: new Comparison(names, { channel: "workgroup", lanes: "64u" }),
      sites,
      functions: new Set(functionsOf(program).filter(({ name }) => name.startsWith("f"))),
      isReplicated: (variable) =>
        addressSpaceOf(variable) === "workgroup" && !variable.name.startsWith("shared"),
    });
const replicated = (name: string, wgsl: string) =>
  golden(name, wgsl, normalizeAccesses, declared, replicate());

describe("gives each replica a copy", () => {
  it("of a scalar, a vector, a matrix, an array and a struct", () =>
    replicated(
      "types",
      `struct Part { at: vec3f, flags: array<vec2<bool>, 40>, on: bool }
      var<workgroup> one: bool;
      var<workgroup> three: vec3<bool>;
      var<workgroup> m: mat4x3f;
      var<workgroup> tile: array<array<f32, 16>, 17>;
      var<workgroup> part: Part;
      fn f(i: u32) {
        one = i > 3u && three.y;
        three = vec3(one);
        three[i % 3u] = tile[i][i + 1u] > part.at.x;
        m[i % 4u].y = tile[u32(part.at.z)][2];
        part.flags[i].y = one;
        part = Part(m[1], part.flags, true);
      }`,
    ));

  it("of an array whose size an override decides, with indices that stay in their copy", () =>
    replicated(
      "override sizes",
      `override width: i32; override height = 2u;
      var<workgroup> row: array<u32, width + 1>;
      var<workgroup> rows: array<array<vec2u, 4>, height>;
      fn f(i: i32) { row[i] = row[-1 - i]; rows[1][i].x = rows[i][0].y; _ = &row; }`,
    ));

  it("of atomics", () =>
    replicated(
      "atomics",
      `struct Bins { total: u32, all: array<atomic<u32>, 40> }
      override n = 4;
      var<workgroup> bins: Bins;
      var<workgroup> counts: array<atomic<i32>, n>;
      fn f(i: u32) { atomicAdd(&bins.all[i], 1u); atomicMax(&counts[i], 3); workgroupBarrier(); bins.total = atomicLoad(&bins.all[0]); }`,
    ));

  it("of f16 values", () =>
    replicated(
      "f16",
      "enable f16; var<workgroup> h: vec3h; var<workgroup> hs: array<f16, 301>; fn f(i: u32) { hs[i] = h.y; h.x = hs[0]; }",
    ));
});

describe("keeps one copy", () => {
  it("of what it is told to, of what no replicated function uses, and of other memory", () =>
    replicated(
      "single copies",
      `struct Bins { total: u32, all: array<atomic<u32>, 4> }
      var<workgroup> shared_bins: Bins;
      var<workgroup> shared_count: atomic<i32>;
      var<workgroup> unused: u32;
      var<workgroup> other: u32;
      var<private> mine: u32;
      fn f(i: u32) { shared_bins.total = i; atomicAdd(&shared_bins.all[i], 1u); mine = workgroupUniformLoad(&shared_bins.total); atomicStore(&shared_count, 1); }
      fn g() { other = 1u; }`,
    ));
});

it("loads both copies uniformly and compares them", () =>
  replicated(
    "uniform loads",
    `struct Limits { low: u32, high: array<vec2f, 3> }
    var<workgroup> limits: Limits;
    var<workgroup> go: bool;
    override n = 4;
    var<workgroup> sizes: array<vec3u, n>;
    fn f(i: u32) -> u32 {
      if (workgroupUniformLoad(&go)) { workgroupBarrier(); }
      let all = workgroupUniformLoad(&limits);
      let size = workgroupUniformLoad(&sizes[all.low]);
      return size.x + u32(workgroupUniformLoad(&limits.high[1]).y);
    }`,
  ));

it("lists each uniform load as a check", () => {
  const sites = new CheckSites();
  const wgsl = "var<workgroup> most: vec2f; fn f() -> vec2f { return workgroupUniformLoad(&most); }";
  applySteps(wgsl, [normalizeAccesses, declared, replicate({ sites })]);
  expect(sites.all.map(({ span, ...site }) => [wgsl.slice(span.start, span.end), site])).toEqual([
    [
      "workgroupUniformLoad(&most)",
      { id: 1, kind: "uniformLoad", functionName: "f", name: "most", scalar: "f32", components: 2 },
    ],
  ]);
});

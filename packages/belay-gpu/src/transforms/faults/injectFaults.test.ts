import { describe, expect, it } from "vitest";
import { goldens, report, type Step, typed } from "../../../../../test/support/wgsl/goldens.ts";
import { functionsOf } from "../../analysis/callGraph.ts";
import { expandSwizzles } from "../normalize/expandSwizzles.ts";
import { normalizeAccesses } from "../normalize/normalizeAccesses.ts";
import { Names } from "../shared/names.ts";
import { armedTrigger } from "./armedTrigger.ts";
import { FaultSites } from "./faultSites.ts";
import { injectFaults } from "./injectFaults.ts";
import { injectionMembers } from "./injectionWords.ts";
import { Strikes } from "./strikes.ts";

const golden = goldens("injectFaults");
const memory = `
  enable f16;
  @group(0) @binding(0) var<storage, read_write> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> v: array<vec3f>;
  @group(0) @binding(2) var<storage, read_write> n: atomic<i32>;
  @group(0) @binding(3) var<uniform> size: u32;
`;
const trigger = (names: Names) =>
  armedTrigger(names, { redundancy: "intra+lds", pairing: "adjacent", subgroups: false });
const declared = report({ injection: injectionMembers });
const inject: Step = (program, names) =>
  injectFaults(program, names, {
    sites: new FaultSites(),
    strikes: new Strikes(names, trigger(names)),
    functions: new Set(functionsOf(program).filter(({ name }) => name === "f")),
    entryPoints: new Set(),
  });
const injected = (name: string, wgsl: string) =>
  golden(name, `${memory} ${wgsl}`, normalizeAccesses, expandSwizzles, declared, inject);

describe("strikes", () => {
  it("what is declared, assigned and stored, of each type of 32-bit words", () =>
    injected(
      "values",
      `fn g() -> i32 { let x = atomicLoad(&n); return x; }
      fn f(i: u32, x: f32) {
        let y = x * 2.0;
        var z: vec3f = vec3f(y) + v[i];
        z.x = y + 1.0;
        z *= y;
        var k = g();
        k += 2;
        a[i] = a[i + 1u] + u32(k);
        v[i].zx = z.xy;
        v[i] += z;
      }`,
    ));

  it("a parameter that is stored, and gives it a name", () =>
    injected("a stored parameter", "fn f(i: u32) { a[i] = i; }"));

  it("no constant, no result of an atomic, and no value of another type", () =>
    injected(
      "values that are not struck",
      `struct S { x: u32 }
      fn f(i: u32) {
        let one = 1u; var two = vec2f(1, 2); var none: u32;
        let old = atomicAdd(&n, 3);
        let h = f16(i); let b = i > 3u; let s = S(i); let xs = array(i, i); var m = mat2x2f(v[0].xy, v[1].xy);
        var local: u32; let p = &local;
        a[0] = 3u; none = 4u; _ = i * 2u;
      }`,
    ));

  it("lanes before their subgroup decides, and no operation on matrices", () =>
    golden(
      "matrices",
      `enable chromium_experimental_subgroup_matrix, subgroups;
      diagnostic(off, chromium.subgroup_matrix_uniformity);
      diagnostic(off, subgroup_uniformity);
      ${memory.replace("enable f16;", "")}
      fn f(i: u32) {
        var sum: subgroup_matrix_result<f32, 8, 8>;
        for (var k = i; subgroupAll(k < 9u); k++) {
          sum = subgroupMatrixScalarAdd(sum, 1.0);
        }
      }`,
      normalizeAccesses,
      expandSwizzles,
      declared,
      inject,
    ));

  it("nothing that a barrier depends on", () =>
    injected(
      "values that a barrier depends on",
      `fn f(i: u32) {
        let rounds = size / 2u;
        var stride = rounds + 1u;
        while (stride > 0u) { a[i] = a[i + stride] * 2u; workgroupBarrier(); stride = stride / 2u; stride -= size; }
      }`,
    ));
});

it("lists the sites, each with its kind, source, function and size", () => {
  const wgsl = `${memory} fn f(i: u32) { var x = v[i] * 2.0; if (size > 3u) { x.y = 1.0; } } fn g(i: u32) { let y = i + 1u; }
    @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) l: u32) { f(l); g(3u); }`;
  const program = typed(wgsl);
  const names = new Names(program);
  const sites = new FaultSites();
  const functions = new Set(functionsOf(program).filter(({ name }) => name !== "main"));
  const strikes = new Strikes(names, trigger(names));
  injectFaults(program, names, { sites, strikes, functions, entryPoints: new Set() });
  const source = (span: { start: number; end: number }) => wgsl.slice(span.start, span.end);
  expect(
    sites.all.map(({ kind, span, uniform, functionName, components }) => [
      kind,
      source(span),
      functionName,
      components,
      uniform,
    ]),
  ).toEqual([
    ["address", "i", "f", 1, false],
    ["load", "v[i]", "f", 3, false],
    ["value", "v[i] * 2.0", "f", 3, false],
    ["branch", "size > 3u", "f", 1, true],
    ["load", "size", "f", 1, true],
    ["statement", "x.y = 1.0", "f", 0, false],
    ["value", "i + 1u", "g", 1, true],
  ]);
});

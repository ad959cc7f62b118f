import { describe, expect, it } from "vitest";
import {
  applySteps,
  goldens,
  reachedByMain,
  report,
  type Step,
} from "../../../../../test/support/wgsl/goldens.ts";
import { addressSpaceOf } from "../../analysis/places.ts";
import { expandSwizzles } from "../normalize/expandSwizzles.ts";
import { normalizeAccesses } from "../normalize/normalizeAccesses.ts";
import { compareStores } from "./compareStores.ts";
import { Comparison } from "./comparison/comparison.ts";
import { replicateInvocations } from "./replicateInvocations.ts";
import { CheckSites } from "./reportBuffer.ts";

const golden = goldens("compareStores");
const adjacent = { replicas: 2, pairing: "adjacent", subgroups: false } as const;
const replicate: Step = (program, names) =>
  replicateInvocations(program, names, { ...adjacent, entryPoints: new Set(["main"]) });
const compare =
  (check: "store" | "signature", { sites = new CheckSites(), copies = true, shadowed = "" } = {}): Step =>
  (program, names) =>
    compareStores(program, names, {
      check,
      comparison: new Comparison(names, { channel: "workgroup", lanes: "128u" }),
      sites,
      functions: reachedByMain(program),
      entryPoints: new Set(["main"]),
      isReplicated: (variable) => copies && addressSpaceOf(variable) === "workgroup",
      isShadowed: (variable) => variable.name === shadowed,
    });
const memory = `
  struct Part { at: vec3f, flags: array<u32, 4> }
  @group(0) @binding(0) var<storage, read_write> out: array<u32>;
  @group(0) @binding(1) var<storage, read_write> parts: array<Part>;
  @group(0) @binding(2) var<storage, read_write> a: array<vec2u>;
  var<workgroup> tile: array<vec2<bool>, 64>;
  @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32) { f(l); }
`;
const prepared = [normalizeAccesses, expandSwizzles, report(), replicate];

describe.each(["store", "signature"] as const)("with the check %s", (check) => {
  const compared = (name: string, wgsl: string, options = {}) =>
    golden(`${name} with ${check}`, `${memory} ${wgsl}`, ...prepared, compare(check, options));

  it("compares what is only written, and one replica writes", () =>
    compared(
      "outputs",
      `fn f(i: u32) {
        out[i] = i * 2u;
        out[3] = 4u;
        parts[i].at = vec3f(f32(i));
        parts[i + 1u].flags[i % 4u] = 7u;
        parts[0] = Part(vec3f(f32(i)), array(i, 1u, 2u, 3u));
      }`,
    ));

  it("compares before both write what is loaded too", () =>
    compared(
      "in place",
      "fn f(i: u32) { a[i] = a[i + 1u] * 2u; for (var k = 0u; k < i; k++) { if (k == 3u) { a[k].y = k; } } }",
    ));

  it("compares what both write to copies of their own, and lets neither wait", () =>
    compared("shadowed", "fn f(i: u32) { a[i] = a[i + 1u] * 2u; out[i] = i; }", { shadowed: "a" }));

  it("compares stores in continuing blocks and switches", () =>
    compared(
      "control flow",
      "fn f(i: u32) { var k = i; loop { switch k { case 1: { break; } default: { out[k] = i; } } continuing { k++; out[0] = k; break if k > 9u; } } }",
    ));

  it("compares workgroup memory of one copy", () =>
    compared("workgroup memory", "fn f(i: u32) { tile[i] = vec2(i > 3u, tile[0].x); tile[0].x = true; }", {
      copies: false,
    }));

  it("compares texture stores of every shape", () =>
    golden(
      `textures with ${check}`,
      `@group(0) @binding(0) var t1: texture_storage_1d<rgba8unorm, write>;
      @group(0) @binding(1) var t2: texture_storage_2d<rgba32uint, write>;
      @group(0) @binding(2) var t3: texture_storage_3d<rgba32sint, write>;
      @group(0) @binding(3) var layers: texture_storage_2d_array<r32float, read_write>;
      fn f(t: texture_storage_2d_array<r32float, read_write>, l: u32) { textureStore(t, vec2u(l), l, textureLoad(t, vec2u(l), l)); }
      @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32) {
        textureStore(t1, l, vec4f(1));
        textureStore(t2, vec2u(l, 1u), vec4u(l));
        textureStore(t3, vec3i(1, 2, 3), vec4i(4));
        f(layers, l);
      }`,
      ...prepared,
      compare(check),
    ));
});

it("leaves copies of workgroup memory inside", () => {
  const { before, after } = applySteps(`${memory} fn f(i: u32) { tile[i] = vec2(i > 3u); }`, [
    ...prepared,
    compare("store"),
  ]);
  expect(after.module).toEqual(before.module);
});

it("lists each check with its source", () => {
  const sites = new CheckSites();
  const wgsl = `${memory} fn f(i: u32) { out[i] = i; parts[i].at.zx = vec2f(f32(i)); parts[0].flags = array(i, i, i, i); }`;
  applySteps(wgsl, [...prepared, compare("store", { sites })]);
  expect(
    sites.all.map(({ span, name, scalar, components }) => [
      wgsl.slice(span.start, span.end),
      name,
      scalar,
      components,
    ]),
  ).toEqual([
    ["main", "main", "hash", 1],
    ["out[i] = i", "out", "u32", 1],
    ["parts[i].at.zx = vec2f(f32(i))", "parts", "f32", 1],
    ["parts[i].at.zx = vec2f(f32(i))", "parts", "f32", 1],
    ["parts[0].flags = array(i, i, i, i)", "parts", "hash", 1],
  ]);
});

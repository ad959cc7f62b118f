import { expect, it } from "vitest";
import {
  applySteps,
  goldens,
  reachedByMain,
  report,
  type Step,
} from "../../../../../test/support/wgsl/goldens.ts";
import { buffersInPlace } from "../../analysis/bindings.ts";
import { expandSwizzles } from "../normalize/expandSwizzles.ts";
import { normalizeAccesses } from "../normalize/normalizeAccesses.ts";
import { resolvePointers } from "../normalize/resolvePointers.ts";
import { Comparison } from "./comparison/comparison.ts";
import { shadowBuffers } from "./shadowBuffers.ts";

const golden = goldens("shadowBuffers");
const shadow: Step = (program, names) => {
  const functions = reachedByMain(program);
  const shadowed = [...buffersInPlace(program, functions)].map(({ name }) => name);
  return shadowBuffers(program, names, {
    comparison: new Comparison(names, { channel: "mailbox", lanes: "64u" }),
    shadows: new Map(shadowed.map((name, i) => [name, { group: 1, binding: i + 1 }])),
    kernels: [{ functions, shadowed: new Set(shadowed) }],
  });
};
const steps = [resolvePointers, normalizeAccesses, expandSwizzles, report(), shadow];
const shadowed = (name: string, wgsl: string) => golden(name, wgsl, ...steps);

it("gives the second replica its own copy of what is loaded and stored", () =>
  shadowed(
    "in place",
    `@group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    fn bump(p: ptr<storage, u32, read_write>) -> u32 { *p += 1u; return *p; }
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
      a[i] += a[a[i + 1u]];
      if (i < arrayLength(&a) && a[i] > 3u) { out[a[i]] = bump(&a[i]); }
      for (var k = a[0]; k < a[1]; k += a[2]) { a[k]++; }
    }`,
  ));

it("loads parts and wholes of structs, arrays, matrices and vectors", () =>
  shadowed(
    "composites",
    `struct Part { at: vec3f, list: array<u32, 4>, m: mat2x2f }
    @group(0) @binding(0) var<storage, read_write> parts: array<Part>;
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
      parts[i] = parts[i + 1u];
      parts[0].list = parts[i].list;
      parts[i].at.zx = parts[i].at.xy * parts[2].m[1] + parts[i].m[i][1];
      parts[i].list[i] = parts[i].list[parts[0].list[1]];
    }`,
  ));

it("leaves atomic operations and other functions alone", () =>
  shadowed(
    "atomics",
    `struct Bins { total: u32, all: array<atomic<u32>> }
    @group(0) @binding(0) var<storage, read_write> bins: Bins;
    @group(0) @binding(1) var<storage, read_write> other: array<u32>;
    fn elsewhere() { other[0] = other[1]; }
    @compute @workgroup_size(64) fn main() {
      bins.total += atomicAdd(&bins.all[bins.total], bins.total);
    }`,
  ));

it("changes nothing where no buffer has a shadow", () => {
  const wgsl = `@group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { out[i] = i; }`;
  const { before, after } = applySteps(wgsl, steps);
  expect(after.module).toEqual(before.module);
});

import { expect, it } from "vitest";
import type { CompilerOptions } from "./contract.ts";
import { protectOnce } from "./keptResults.ts";
import { protect } from "./protect.ts";

const square = (name: string) => `
  override size: u32 = 64;
  @group(0) @binding(0) var<storage, read_write> ${name}: array<f32>;
  @compute @workgroup_size(size) fn square(@builtin(global_invocation_id) id: vec3u) {
    ${name}[id.x] *= ${name}[id.x];
  }`;

const variants: readonly CompilerOptions[] = [
  {},
  { redundancy: "auto" },
  { redundancy: "auto", features: new Set(["subgroups"]) },
  { redundancy: "none", memory: "checksum" },
  { redundancy: "none", memory: "secded128" },
  { limits: { maxComputeInvocationsPerWorkgroup: 64 } },
  { constants: { size: 128 } },
  { constants: { size: Number.NaN } },
  { constants: { size: Number.POSITIVE_INFINITY } },
  { injectFaults: true },
];

it("returns what the compiler returns, and the same object for equal arguments", () => {
  const first = variants.map((options) => protectOnce(square("x"), options));
  expect(first).toEqual(variants.map((options) => protect(square("x"), options)));
  expect(new Set(first).size).toBe(variants.length);
  for (const [i, options] of variants.entries()) {
    const { features, constants } = options;
    const equal = {
      ...options,
      ...(features && { features: [...features] }),
      ...(constants && { constants: { ...constants } }),
    };
    expect(protectOnce(square("x"), equal)).toBe(first[i]);
  }
});

it("forgets what was asked for longest ago", () => {
  const [a, b] = ["a", "b"].map((name) => protectOnce(square(name)));
  for (let i = 0; i < 127; i++) {
    protectOnce(`const c = ${i};`);
    protectOnce(square("b"));
  }
  expect(protectOnce(square("b"))).toBe(b);
  expect(protectOnce(square("a"))).not.toBe(a);
  expect(protectOnce(square("a"))).toEqual(a);
});

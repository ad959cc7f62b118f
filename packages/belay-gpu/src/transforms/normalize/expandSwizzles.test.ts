import { expect, it } from "vitest";
import { applySteps, goldens } from "../../../../../test/support/wgsl/goldens.ts";
import { expandSwizzles } from "./expandSwizzles.ts";
import { normalizeAccesses } from "./normalizeAccesses.ts";

const golden = goldens("expandSwizzles");
const memory = `
  @group(0) @binding(0) var<storage, read_write> a: array<vec4f>;
  var<workgroup> tile: mat2x3f;
`;

it("stores the components one by one, in the order of the swizzle", () =>
  golden(
    "swizzles",
    `${memory} fn f(i: u32, v: vec2f) { a[i].zx = v; a[i + 1u].rgb *= 2.0; tile[i].yz = a[i].ww; }`,
    normalizeAccesses,
    expandSwizzles,
  ));

it("finds the components of a swizzle of a swizzle", () =>
  golden(
    "a swizzle of a swizzle",
    `${memory} fn f(i: u32, v: vec2f) { a[i].wzyx.zw.yx = v; a[i].wzyx.y = v.x; }`,
    normalizeAccesses,
    expandSwizzles,
  ));

it("leaves vectors of the invocation alone", () => {
  const wgsl = `${memory} fn f(p: ptr<function, vec3f>) { var v: vec3f; v.xy = a[0].xy; v.zyx += v; p.yz = v.xy; }`;
  const { before, after } = applySteps(wgsl, [normalizeAccesses, expandSwizzles]);
  expect(after.module).toEqual(before.module);
});

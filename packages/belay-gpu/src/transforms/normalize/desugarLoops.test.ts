import { describe, expect, it } from "vitest";
import { applySteps, goldens } from "../../../../../test/support/wgsl/goldens.ts";
import { desugarLoops } from "./desugarLoops.ts";

const golden = goldens("desugarLoops");
const memory = `
  @group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>>;
  @group(0) @binding(1) var<storage, read_write> a: array<u32>;
  var<workgroup> most: u32;
`;

describe("makes a loop of", () => {
  it("a while with an atomic in its condition", () =>
    golden(
      "a while with an atomic",
      `${memory} fn f(x: u32) { while (x > 3u && atomicAdd(&n[0], 1u) < x) { if (a[x] == 0u) { continue; } a[x] = 1u; } }`,
      desugarLoops,
    ));

  it("a for with an atomic in its condition, keeping its variable's scope", () =>
    golden(
      "a for with an atomic in its condition",
      `${memory} fn f(i: u32) { for (var i = 0u; i < atomicLoad(&n[1]); i++) { let i = i + 1u; a[i] = i; } a[i] = 0u; }`,
      desugarLoops,
    ));

  it("a for with a store in its update, which a continue runs too", () =>
    golden(
      "a for with a store in its update",
      `${memory} fn f() { for (var i = 0u; i < 3u; a[i] += i) { i++; if (i == 2u) { continue; } } }`,
      desugarLoops,
    ));

  it("a for without condition or update", () =>
    golden(
      "a for without condition or update",
      `${memory} fn f() { for (var i = atomicAdd(&n[0], 1u); ; ) { if (i > 3u) { break; } i++; } }`,
      desugarLoops,
    ));

  it("a for with a store as initializer and an increment of storage", () =>
    golden(
      "a for with only memory in its header",
      `${memory} fn f() { for (a[0] = 0u; a[0] < 3u; a[0]++) {} }`,
      desugarLoops,
    ));

  it("a for that loads uniformly", () =>
    golden(
      "a for that loads uniformly",
      `${memory} fn f() { for (var i = 0u; i < workgroupUniformLoad(&most); i++) { workgroupBarrier(); } }`,
      desugarLoops,
    ));

  it("a for that declares a pointer", () =>
    golden(
      "a for that declares a pointer",
      `${memory} fn f(i: u32) { for (let p = &a[i]; *p < 3u; ) { *p = 4u; } }`,
      desugarLoops,
    ));

  it("a for that stores to a texture in its update", () =>
    golden(
      "a for that stores to a texture",
      `@group(0) @binding(0) var image: texture_storage_1d<r32uint, write>;
      fn f() { var i = 0u; for (; i < 3u; textureStore(image, i, vec4u(i))) { i++; } }`,
      desugarLoops,
    ));

  it("nested loops, with the attributes of each", () =>
    golden(
      "nested loops with attributes",
      `${memory} fn f() {
        @diagnostic(off, derivative_uniformity)
        while (atomicLoad(&n[0]) > 0u) @diagnostic(warning, derivative_uniformity) {
          for (var i = 0u; i < 2u; atomicAdd(&n[i], 1u)) { i++; }
        }
      }`,
      desugarLoops,
    ));
});

it("leaves loops alone whose header only computes and calls", () => {
  const { before, after } = applySteps(
    `${memory} fn next(i: u32) -> u32 { return i + atomicAdd(&n[0], 1u); }
    fn f() { for (var i = a[0]; i < a[1]; i = next(i)) { a[i] = 1u; } while (next(0u) > 3u) { atomicAdd(&n[1], 1u); } }`,
    [desugarLoops],
  );
  expect(after.module).toEqual(before.module);
});

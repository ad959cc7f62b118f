import { describe, expect, it } from "vitest";
import { applySteps, goldens } from "../../../../../test/support/wgsl/goldens.ts";
import { desugarLoops } from "./desugarLoops.ts";
import { normalizeAccesses } from "./normalizeAccesses.ts";
import { resolvePointers } from "./resolvePointers.ts";

const golden = goldens("normalizeAccesses");
const memory = `
  struct Part { at: vec3f, flags: array<u32, 4>, m: mat2x2f }
  @group(0) @binding(0) var<storage, read_write> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> n: array<atomic<u32>>;
  @group(0) @binding(2) var<storage, read_write> parts: array<Part>;
  @group(0) @binding(3) var image: texture_storage_2d<rgba8unorm, write>;
  var<workgroup> most: vec2u;
  var<workgroup> seen: bool;
  var<private> count: u32;
  fn next() -> u32 { count += 1u; return count; }
  fn bump(p: ptr<function, u32>) -> u32 { *p += 1u; return *p; }
`;
const normal = (name: string, wgsl: string) =>
  golden(name, `${memory} ${wgsl}`, desugarLoops, resolvePointers, normalizeAccesses);

describe("stores", () => {
  it("get a named index and value, computed in order and once", () =>
    normal("a store", "fn f(i: u32) { a[next()] = next(); a[i] = i; a[2] = 3; let v = i + 1u; a[v] = v; }"));

  it("of compound assignments load their place before the operand", () =>
    normal(
      "compound assignments",
      "fn f() { a[next()] += next() * 2u; a[0] <<= 1u; a[1] |= atomicOr(&n[0], 4u); a[atomicAdd(&n[1], 1u)] -= a[2]; }",
    ));

  it("of increments", () => normal("increments", "fn f(i: i32) { a[next()]++; a[i]--; }"));

  it("to members, components, swizzles, matrices and arrays", () =>
    normal(
      "parts of composite values",
      `fn f(i: u32) {
        parts[i].at = vec3f(1, 2, 3);
        parts[i].at.y *= 2.0;
        parts[i].at[i % 3u] += 1.0;
        parts[next()].at.xz = vec2f(f32(next()));
        parts[i].m[next() % 2u].x = 1;
        parts[i].flags = array(1u, i, 3u, 4u);
        parts[i] = parts[i + 1u];
      }`,
    ));

  it("to variables of the invocation stay, unless an atomic has to go before", () =>
    normal(
      "private stores",
      `fn f() {
        var x = 1u;
        var xs: array<u32, 4>;
        x += next();
        x++;
        xs[next()] += atomicAdd(&n[0], x);
        x -= atomicLoad(&n[0]);
        xs[atomicAdd(&n[0], 1u)]++;
        count = atomicLoad(&n[1]);
      }`,
    ));

  it("of a local that was renamed get a name, as any other", () =>
    normal("a value that changes", "fn f(i: u32) { var x = i; a[x] = bump(&x); a[i] = x; }"));
});

describe("memory operations", () => {
  it("stand alone, with named operands", () =>
    normal(
      "atomics",
      `fn f(i: u32) -> u32 {
        atomicAdd(&n[next()], next());
        atomicStore(&n[i], 1u);
        let x = atomicMax(&n[i + 1u], i);
        let old = atomicCompareExchangeWeak(&n[0], x, x + 1u).old_value;
        _ = atomicAdd(&n[0], atomicAdd(&n[1], atomicLoad(&n[2])));
        var y = atomicLoad(&n[0]);
        return old + atomicExchange(&n[3], y);
      }`,
    ));

  it("keep their place among what is computed before and after them", () =>
    normal(
      "evaluation order",
      `fn f() -> u32 {
        var i = 1u;
        let x = bump(&i) + i * atomicAdd(&n[i], bump(&i)) + bump(&i);
        let y = vec3u(i, atomicLoad(&n[0]), i).xyz[atomicLoad(&n[1])];
        let z = -i32(a[0]) + i32(atomicLoad(&n[0]));
        return x + y + u32(z) + i;
      }`,
    ));

  it("give indices into memory, which is not copied for it", () =>
    normal(
      "elements at indices from atomics",
      `fn f() -> u32 {
        var xs: array<u32, 4>;
        let x = a[atomicAdd(&n[0], 1u)];
        let at = parts[atomicAdd(&n[0], 1u)].at.xy;
        return x + xs[atomicLoad(&n[0])] + u32(at.x) + u32(parts[0].flags[atomicLoad(&n[1])]);
      }`,
    ));

  it("on the right of && and || stay conditional", () =>
    normal(
      "short circuits",
      `fn f(i: u32) -> bool {
        let both = i > 3u && atomicAdd(&n[0], 1u) > 4u && next() > 2u;
        let either = atomicAdd(&n[0], 1u) > 4u || (i > 3u && atomicLoad(&n[1]) == 0u);
        seen = both || atomicLoad(&n[2]) > 0u;
        return !(next() > 1u || atomicLoad(&n[0]) > i) & either;
      }`,
    ));

  it("in the conditions of if and else if, where the first must come first", () =>
    normal(
      "else if",
      `fn f(i: u32) {
        if (a[i] == 0u) { a[i] = 1u; }
        else if (atomicAdd(&n[0], 1u) > 3u) { a[i] = 2u; }
        else if (i > 3u) { a[i] = 3u; }
        else { a[i] = 4u; }
      }`,
    ));

  it("in selectors, returns, and arguments of calls that must be used", () =>
    normal(
      "selectors and arguments",
      `@must_use fn twice(x: u32) -> u32 { return x * 2u; }
      fn f() -> u32 {
        switch atomicLoad(&n[0]) { case 0, 1: { a[0] += 1u; } case 2, default: {} }
        switch (i32(twice(atomicLoad(&n[1])))) { default: { return twice(twice(next()) + atomicLoad(&n[2])); } }
      }`,
    ));

  it("in break if and continuing", () =>
    normal(
      "break if",
      `fn f() {
        var i = 0u;
        loop { if (i == 2u) { continue; } a[i] = i; continuing { i++; a[i] += 1u; break if atomicAdd(&n[0], 1u) > i || i > 5u; } }
        loop { i++; continuing { break if atomicLoad(&n[0]) > 3u; } }
      }`,
    ));

  it("in the headers of loops", () =>
    normal(
      "headers of loops",
      `fn f() {
        for (var i = atomicLoad(&n[0]); i < atomicLoad(&n[1]) && i < 9u; i += atomicAdd(&n[2], i)) { a[i] = i; }
        while (workgroupUniformLoad(&most).x > 3u) { workgroupBarrier(); }
      }`,
    ));

  it("that load uniformly", () =>
    normal(
      "uniform loads",
      "fn f() -> u32 { if (workgroupUniformLoad(&seen)) { workgroupBarrier(); } return dot(workgroupUniformLoad(&most), vec2u(next())); }",
    ));

  it("on textures get named coordinates and values", () =>
    normal(
      "texture stores",
      "fn f(at: vec2u) { textureStore(image, at, vec4f(f32(next()))); textureStore(image, vec2(next(), 1u), vec4f()); }",
    ));
});

it("leaves alone what touches no shared memory", () => {
  const wgsl = `${memory} fn g(i: u32) -> u32 { var x = i; x += next() + a[x]; if (x > 3u && next() > 1u) { x--; } _ = x; return x; }`;
  const { before, after } = applySteps(wgsl, [normalizeAccesses]);
  expect(after.module).toEqual(before.module);
});

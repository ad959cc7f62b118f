import { expect, it } from "vitest";
import { parse } from "../wgsl/index.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { uniformity } from "./uniformity.ts";

/**
 * Returns the names of the uniform variables of a kernel with this body, which may use `limit` and
 * `f`.
 */
function uniformIn(body: string, functions = ""): string[] {
  const program = resolve(
    parse(`
      @group(0) @binding(0) var<uniform> limit: u32;
      @group(0) @binding(1) var<storage, read_write> out: array<u32>;
      var<workgroup> shared_: array<u32, 8>;
      ${functions}
      @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3u) {
        ${body}
      }`).module,
  );
  expect(program.diagnostics).toEqual([]);
  return [...uniformity(program).variables].map((target) => target.name).sort();
}

it.each([
  ["nothing without a barrier", "let a = limit; if (a > 2u) { out[l] = a; }", []],
  ["nothing that a barrier does not depend on", "let a = limit; workgroupBarrier(); out[l] = a;", []],
  ["a condition", "let a = limit; if (a > 2u) { workgroupBarrier(); }", ["a"]],
  [
    "the operands of a condition",
    "let a = w.x; var b = a; b += 2u; if (b > 2u) { workgroupBarrier(); }",
    ["a", "b", "w"],
  ],
  [
    "a loop's bound and step",
    "let n = limit; let by = 2u; for (var i = 0u; i < n; i += by) { workgroupBarrier(); }",
    ["by", "i", "n"],
  ],
  [
    "the conditions that leave a loop",
    "let n = limit; let m = limit; loop { if (n > 3u) { break; } storageBarrier(); if (m > 9u) { continue; } }",
    ["m", "n"],
  ],
  [
    "no inner loop without a barrier",
    "let n = limit; for (var i = 0u; i < n; i++) { out[l] += i; } workgroupBarrier();",
    [],
  ],
  [
    "the conditions that leave the function",
    "let n = limit; if (n > 3u) { return; } workgroupBarrier();",
    ["n"],
  ],
  ["a selector", "let n = limit; switch n { case 1: { workgroupBarrier(); } default: {} }", ["n"]],
  [
    "the left operand of a short circuit",
    "let n = limit; let a = n > 2u && workgroupUniformLoad(&shared_[1]) > 0u;",
    ["n"],
  ],
  ["the index of a uniform load", "let i = limit; let k = workgroupUniformLoad(&shared_[i]);", ["i"]],
  [
    "the conditions around assignments to a uniform variable",
    "let n = limit; var a = 0u; if (n > 2u) { a = 1u; } if (a > 0u) { workgroupBarrier(); }",
    ["a", "n"],
  ],
  [
    "the values stored through a pointer",
    "let n = limit; var a = 0u; let p = &a; *p = n; if (a > 0u) { workgroupBarrier(); }",
    ["a", "n", "p"],
  ],
])("requires to be uniform: %s", (_, body, expected) => {
  expect(uniformIn(body)).toEqual(expected);
});

it.each([
  [
    "into functions that reach a barrier",
    "let n = limit; if (n > 1u) { sync(); }",
    "fn sync() { workgroupBarrier(); }",
    ["n"],
  ],
  [
    "through parameters",
    "let a = limit; let b = l; repeat(a, b);",
    "fn repeat(n: u32, x: u32) { for (var i = 0u; i < n; i++) { out[x] = i; workgroupBarrier(); } }",
    ["a", "i", "n"],
  ],
  [
    "through results",
    "if (chosen(l, limit)) { workgroupBarrier(); }",
    "fn chosen(x: u32, y: u32) -> bool { out[x] = y; let kept = y; if (kept > 3u) { return true; } return false; }",
    ["kept", "l", "y"],
  ],
  [
    "through pointers",
    "var a = 0u; set(&a, limit); if (a > 2u) { workgroupBarrier(); }",
    "fn set(p: ptr<function, u32>, to: u32) { *p = to; }",
    ["a", "p", "to"],
  ],
])("follows values %s", (_, body, functions, expected) => {
  expect(uniformIn(body, functions)).toEqual(expected);
});

it("requires nothing for a rule whose diagnostic the module turns off", () => {
  const variables = (directive: string) => {
    const kernel = "@compute @workgroup_size(8) fn main(@builtin(workgroup_id) w: vec3u)";
    const body = "{ let a = w.x; if (a > 2u) { _ = subgroupAdd(1u); } }";
    const program = resolve(parse(`enable subgroups; ${directive} ${kernel} ${body}`).module);
    return [...uniformity(program).variables].map((target) => target.name).sort();
  };
  expect(variables("")).toEqual(["a", "w"]);
  expect(variables("diagnostic(off, subgroup_uniformity);")).toEqual([]);
});

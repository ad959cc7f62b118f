import { expect, it } from "vitest";
import type { Expression } from "../wgsl/ast.ts";
import { parse } from "../wgsl/index.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { walk } from "../wgsl/traverse.ts";
import { functionsOf } from "./callGraph.ts";
import { dependencesOfPlaces } from "./dependences.ts";
import { dependence } from "./valueDependences.ts";

const [wx, wy] = dependence.workgroup;
const [lx, ly, lz] = dependence.local;
const { contents, uniforms } = dependence;
const all = wx | wy | dependence.workgroup[2] | lx | ly | lz;

const isOut = (base: Expression) => base.kind === "identifier" && base.name === "out";

/** Returns the dependences of the first store to `out`. */
function dependences(body: string, functions = ""): number | undefined {
  const program = resolve(
    parse(`
      @group(0) @binding(0) var<uniform> limit: u32;
      @group(0) @binding(1) var<storage, read> a: array<u32>;
      @group(0) @binding(2) var<storage, read_write> out: array<u32>;
      var<private> mine: u32;
      var<workgroup> shared_1: array<u32, 96>;
      var<workgroup> count: atomic<u32>;
      const WIDTH = 8u;
      ${functions}
      @compute @workgroup_size(8, 4) fn main(
        @builtin(workgroup_id) w: vec3u, @builtin(local_invocation_id) l: vec3u, @builtin(global_invocation_id) g: vec3u,
        @builtin(local_invocation_index) i: u32, @builtin(num_workgroups) n: vec3u,
      ) { ${body} }`).module,
  );
  expect(program.diagnostics).toEqual([]);
  const main = functionsOf(program).find(({ name }) => name === "main")!;
  const of = dependencesOfPlaces(program, main);
  let found: number | undefined;
  walk(program.module, (node) => {
    if (node.kind === "assign" && node.target?.kind === "index" && isOut(node.target.base))
      found ??= of(node.target);
  });
  return found;
}

it.each([
  ["constants and sizes", "out[WIDTH + n.x + arrayLength(&a)] = 1;", 0],
  ["components of ids", "let x = w.x * 8u + l.y; out[x] = 1;", wx | ly],
  ["ids that are computed from others", "out[g.y] = 1;", wy | ly],
  ["the index in the workgroup", "out[i % 4] = 1;", lx | ly | lz],
  ["swizzles and vectors", "let v = vec2u(l.yx); out[v.y] = 1;", lx],
  ["all values of a variable", "var x = l.x; x = w.x; out[x] = 1;", lx | wx],
  ["arguments of functions", "out[twice(l.x)] = 1;", lx, "fn twice(x: u32) -> u32 { return 2 * x; }"],
  ["the conditions around it", "if (l.x == 0) { out[w.x] = 1; }", lx | wx],
  ["the conditions of an assignment", "var x = 0u; if (l.y > 1) { x = w.x; } out[x] = 1;", ly | wx],
  ["earlier returns", "if (w.y > 3) { return; } out[l.x] = 1;", wy | lx],
  [
    "the conditions that leave a loop",
    "for (var k = 0u; k < 4; k++) { if (l.y < k) { break; } out[l.x] = 1; }",
    lx | ly,
  ],
  [
    "the conditions of a function call",
    "if (l.x > 1) { put(w.x); }",
    lx | wx,
    "fn put(x: u32) { out[x] = 1; }",
  ],
  ["the left operand of a short circuit", "let x = w.x > 1 && l.y > 1; if (x) { out[0] = 1; }", wx | ly],
  ["private variables", "mine = l.x; out[mine] = 1;", lx],
])("an access depends on %s", (_, body, expected, functions = "") => {
  expect(dependences(body, functions)).toBe(expected);
});

it.each([
  ["an index from memory", "out[a[0]] = 1;"],
  ["a loop that memory ends", "for (var k = 0u; k < a[0]; k++) { out[k] = 1; }"],
  ["a pointer", "var x = 0u; change(&x); out[x] = 1;", "fn change(p: ptr<function, u32>) { *p = a[0]; }"],
])("the contents of memory decide: %s", (_, body, functions = "") => {
  expect(dependences(body, functions)! & contents).toBe(contents);
});

it.each([
  ["an index", "out[g.y + a[g.x]] = 1;", wx | wy | lx | ly],
  ["values that other invocations stored", "shared_1[i] = 1; out[shared_1[0]] = 1;", all],
  ["the result of an atomic operation", "out[atomicAdd(&count, 1u)] = 1;", all],
])("memory and ids decide %s", (_, body, ids) => {
  expect(dependences(body)).toBe(ids | contents);
});

it.each([
  ["a condition", "if (w.x < limit) { out[l.x] = 1; }", wx | lx],
  ["a loop", "for (var k = 0u; k < limit; k++) { out[k] = 1; }", 0],
  ["an index", "out[g.y * limit] = 1;", wy | ly],
])("uniform buffers and ids decide %s", (_, body, ids) => {
  expect(dependences(body)).toBe(ids | uniforms);
});

it("depends on all ids of an index at once", () => {
  expect(dependences("out[w.x + w.y + w.z + i] = a[0];")).toBe(all);
});

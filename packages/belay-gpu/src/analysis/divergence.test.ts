import { expect, it } from "vitest";
import { parse } from "../wgsl/index.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { walk } from "../wgsl/traverse.ts";
import { divergence } from "./divergence.ts";

/**
 * Returns true if `x` may differ between invocations at its last store in a kernel's body.
 */
function diverges(body: string, functions = ""): boolean {
  const program = resolve(
    parse(`
      @group(0) @binding(0) var<uniform> limit: u32;
      @group(0) @binding(1) var<storage, read> a: array<u32>;
      @group(0) @binding(2) var<storage, read_write> out: array<u32>;
      var<workgroup> tile: array<u32, 8>;
      var<private> mine: u32;
      ${functions}
      @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3u) {
        ${body}
        out[0] = x;
      }`).module,
  );
  expect(program.diagnostics).toEqual([]);
  const isDivergent = divergence(program);
  let found: boolean | undefined;
  walk(program.module, (node) => {
    if (node.kind === "assign" && node.value.kind === "identifier" && node.value.name === "x")
      found = isDivergent(node.value);
  });
  return found!;
}

it.each([
  ["constants and uniforms", "let x = limit * 2u;"],
  ["ids of the workgroup", "let x = w.x + a[w.y];"],
  ["values assigned in uniform branches", "var x = 0u; if (limit > w.x) { x = a[3]; } else { x++; }"],
  [
    "counters of uniform loops",
    "var x = 0u; for (var i = 0u; i < limit; i++) { if (i == 7u) { break; } x += i; }",
  ],
  [
    "results of functions of these",
    "let x = f(w.x);",
    "fn f(i: u32) -> u32 { if (i > 3u) { return 1u; } return i; }",
  ],
  ["uniform loads", "let x = workgroupUniformLoad(&tile[0]);"],
  ["values assigned after the return of some invocations", "var x = 0u; if (l > 3u) { return; } x = limit;"],
])("does not diverge: %s", (_, body, functions = "") => expect(diverges(body, functions)).toBe(false));

it.each([
  ["ids of the invocation", "let x = l + limit;"],
  ["loads from memory that is written", "let x = out[w.x];"],
  ["workgroup and private memory", "let x = tile[0] + mine;"],
  ["loads at a divergent index", "let x = a[l];"],
  ["values assigned in divergent branches", "var x = 0u; if (l > 3u) { x = 1u; }"],
  ["values assigned in a divergent case", "var x = 0u; switch l { case 1: { x++; } default: {} }"],
  ["counters of loops that end at different times", "var x = 0u; while (x < l) { x++; }"],
  ["values assigned in a loop that some leave", "var x = 0u; loop { x++; if (a[l] > x) { break; } }"],
  [
    "values assigned in a loop that some continue",
    "var x = 0u; for (var i = 0u; i < 4u; i++) { if (i == l) { continue; } x++; }",
  ],
  ["results of functions of these", "let x = f(l);", "fn f(i: u32) -> u32 { return i; }"],
  [
    "results of functions that return at different times",
    "let x = f(a[l] > 1u);",
    "fn f(c: bool) -> u32 { if (c) { return 1u; } return 2u; }",
  ],
  ["elements at a divergent index", "var xs: array<u32, 4>; xs[l & 3u] = 1u; let x = xs[0];"],
  ["variables that a pointer may change", "var y = 0u; let p = &y; *p = l; let x = y;"],
])("diverges: %s", (_, body, functions = "") => expect(diverges(body, functions)).toBe(true));

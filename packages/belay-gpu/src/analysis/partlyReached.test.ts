import { expect, it } from "vitest";
import { typed } from "../../../../test/support/wgsl/goldens.ts";
import { partlyReachedCalls } from "./partlyReached.ts";

/** Returns true if only some invocations may reach a call of `mark`. */
function isPartly(body: string, functions = ""): boolean {
  const program = typed(`
    @group(0) @binding(0) var<uniform> limit: u32;
    fn mark() {}
    ${functions}
    @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3u) {
      ${body}
    }`);
  return [...partlyReachedCalls(program)].some(
    ({ callee }) => callee.kind === "identifier" && callee.name === "mark",
  );
}

it.each([
  ["at the top", "mark();"],
  ["in uniform branches and loops", "if (limit > w.x) { for (var i = 0u; i < limit; i++) { mark(); } }"],
  ["after a loop that some leave early", "for (var i = 0u; i < 9; i++) { if (i == l) { break; } } mark();"],
  ["in a function that all call", "f(w.x);", "fn f(x: u32) { if (x > 3) { mark(); } }"],
])("all invocations reach a call %s", (_, body, functions = "") =>
  expect(isPartly(body, functions)).toBe(false),
);

it.each([
  ["in a divergent branch", "if (l < 4) { mark(); }"],
  ["in a divergent case", "switch (l) { case 1: { mark(); } default: {} }"],
  ["in a loop of divergent length", "for (var i = 0u; i < l; i++) { mark(); }"],
  ["in a loop that some leave early", "for (var i = 0u; i < 9; i++) { if (i == l) { break; } mark(); }"],
  [
    "in a loop that some continue early",
    "loop { if (l > 2) { continue; } mark(); continuing { break if w.x == 0; } }",
  ],
  ["after some have returned", "if (l == 7) { return; } mark();"],
  ["in a function that some call", "if (l == 7) { f(); }", "fn f() { mark(); }"],
  ["in a function with divergent arguments", "f(l);", "fn f(x: u32) { if (x > 3) { mark(); } }"],
])("only some reach a call %s", (_, body, functions = "") => expect(isPartly(body, functions)).toBe(true));

import { expect, it } from "vitest";
import { resolved } from "../../../../test/support/wgsl/resolved.ts";
import { functionsOf } from "./callGraph.ts";
import { executionBound } from "./executionBound.ts";
import { memoryAccesses } from "./memoryAccesses.ts";

/** Returns the bound on the stores of an invocation of `main` to buffers. */
function storesOf(body: string): number {
  const program = resolved(/* wgsl */ `
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    fn twice(i: u32) { out[i] = 1u; out[i + 1u] = 2u; }
    fn loops(i: u32) { for (var j = 0u; j < i; j++) { out[j] = j; } }
    @compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) { ${body} }`);
  const [main] = functionsOf(program).filter(({ name }) => name === "main");
  const accesses = [...memoryAccesses(program, functionsOf(program)).values()].flat();
  return executionBound(program, main!, new Set(accesses.map(({ expression }) => expression)));
}

it.each([
  ["", 0],
  ["out[id.x] = 1u;", 1],
  ["if (id.x > 3u) { out[id.x] = 1u; } else { out[0] = 1u; }", 2],
  ["twice(id.x); twice(id.y);", 4],
  ["while (true) { break; } out[0] = 1u;", 1],
  ["loop { twice(id.x); if (id.x > 1u) { break; } }", Number.POSITIVE_INFINITY],
  ["loops(id.x);", Number.POSITIVE_INFINITY],
])("bounds the executed stores of: %s", (body, bound) => {
  expect(storesOf(body)).toBe(bound);
});

it("follows chains of calls that are longer than the call stack", () => {
  const chain = Array.from(
    { length: 5000 },
    (_, i) => `fn f${i}() { ${i === 0 ? "" : `f${i - 1}();`} }`,
  ).join("\n");
  const program = resolved(`${chain} @compute @workgroup_size(1) fn main() { f4999(); }`);
  const [main] = functionsOf(program).filter(({ name }) => name === "main");
  expect(executionBound(program, main!, new Set())).toBe(0);
});

import { describe, expect, it } from "vitest";
import { typed } from "../../../../test/support/wgsl/goldens.ts";
import type { CallExpression } from "../wgsl/ast.ts";
import { walk } from "../wgsl/traverse.ts";
import { functionsOf } from "./callGraph.ts";
import { builtinFunction, containsMemoryOperation, isMemoryOperation, isTextureStore } from "./effects.ts";

const prelude = `
  @group(0) @binding(0) var<storage, read_write> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> n: atomic<u32>;
  @group(0) @binding(2) var image: texture_storage_1d<r32uint, read_write>;
  var<workgroup> most: u32;
  struct S { x: u32 }
  fn own() -> u32 { return atomicLoad(&n); }
`;

/** Returns the program of a function with `body`, the function, and its calls in source order. */
function programOf(body: string) {
  const program = typed(`${prelude} fn f() { ${body} }`);
  const fn = functionsOf(program).at(-1)!;
  const calls: CallExpression[] = [];
  walk(fn.body, (node) => {
    if (node.kind === "call") calls.push(node);
  });
  return { program, fn, calls };
}

describe("calls", () => {
  const { program, calls } = programOf(`
    _ = max(1u, a[0]); _ = own(); _ = S(1u); _ = vec2u(1u); _ = bitcast<f32>(a[0]);
    _ = atomicLoad(&n); atomicStore(&n, 1u); _ = workgroupUniformLoad(&most); textureStore(image, 0, vec4u()); workgroupBarrier();`);
  const names = (is: (call: CallExpression) => boolean) => calls.filter(is).map(({ callee }) => callee.name);

  it("of built-in functions have a name", () => {
    expect(calls.map((call) => builtinFunction(program, call)).filter(Boolean)).toEqual([
      "max",
      "bitcast",
      "atomicLoad",
      "atomicStore",
      "workgroupUniformLoad",
      "textureStore",
      "workgroupBarrier",
    ]);
  });

  it("that act on shared memory are memory operations", () => {
    expect(names((call) => isMemoryOperation(program, call))).toEqual([
      "atomicLoad",
      "atomicStore",
      "workgroupUniformLoad",
    ]);
    expect(names((call) => isTextureStore(program, call))).toEqual(["textureStore"]);
  });
});

it("finds a memory operation at any depth, but not in the functions that are called", () => {
  const contains = (body: string) => {
    const { program, fn } = programOf(body);
    return containsMemoryOperation(program, fn.body);
  };
  expect(contains("var x = vec2(1u, (a[atomicLoad(&n)] + 1u) * 2u).x;")).toBe(true);
  expect(
    contains("if (a[0] > 1u) { loop { if (a[1] == 2u) { break; } continuing { atomicStore(&n, 1u); } } }"),
  ).toBe(true);
  expect(contains("var x = own() + a[own()];")).toBe(false);
});

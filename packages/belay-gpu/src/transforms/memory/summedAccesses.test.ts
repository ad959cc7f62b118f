import { expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { functionsOf, reachableFrom } from "../../analysis/callGraph.ts";
import { dependencesOfPlaces } from "../../analysis/dependences.ts";
import { memoryAccesses } from "../../analysis/memoryAccesses.ts";
import { summedAccesses } from "./summedAccesses.ts";

/** Returns the way in which the accesses of `main` to a buffer are added up. */
function way(declaration: string, body: string, size = "8") {
  const program = typed(`@group(0) @binding(0) var<storage, read_write> a: ${declaration};
    @group(0) @binding(1) var<storage, read_write> b: array<u32>;
    @group(0) @binding(2) var<uniform> count: u32;
    override width = 8u;
    @compute @workgroup_size(${size}) fn main(@builtin(global_invocation_id) id: vec3u) { ${body} }`);
  const [kernel] = functionsOf(program);
  const accesses = memoryAccesses(program, reachableFrom(program, [kernel!]));
  const [variable, own] = [...accesses].find(([{ name }]) => name === "a")!;
  return summedAccesses(program, kernel!, variable, own, dependencesOfPlaces(program, kernel!));
}

it.each([
  ["array<u32>", "b[id.x] = a[id.x];", "8", undefined],
  ["array<u32>", "a[id.x] = 1u;", "8", undefined],
  ["array<u32>", "a[id.x] = a[id.x] + 1u;", "8", "it is changed in place"],
  ["array<atomic<u32>>", "atomicAdd(&a[id.x], 1u);", "8", "atomic operations change it"],
  ["array<u32>", "b[id.x] = a[id.x];", "width", "an override decides the size of its workgroups"],
  ["array<mat2x2f>", "b[id.x] = u32(a[id.x][0].x);", "8", undefined],
])("of %s, %s in workgroups of %s: %s", (declaration, body, size, why) => {
  const found = way(declaration, body, size);
  expect("why" in found ? found.why : undefined).toBe(why);
});

it("tells where what is accessed varies with the contents of memory", () => {
  const variesIn = (body: string) => way("array<u32>", body);
  expect(variesIn("b[id.x] = a[id.x];")).toMatchObject({ varies: undefined });
  expect(variesIn("if (id.x < count) { b[id.x] = a[id.x]; }")).toMatchObject({ varies: "uniforms" });
  expect(variesIn("b[id.x] = a[b[id.x]];")).toMatchObject({ varies: "any" });
  expect(variesIn("b[id.x] = a[b[count]];")).toMatchObject({ varies: "any" });
  expect(variesIn("b[id.x] = a[id.x] + count;")).toMatchObject({ varies: undefined });
});

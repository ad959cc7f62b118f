import { expect, it } from "vitest";
import { parse } from "../wgsl/parser.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { functionsOf, stageOf } from "./callGraph.ts";
import { hasIndirectAccess } from "./indirectAccess.ts";

const isIndirect = (body: string) => {
  const program = resolve(
    parse(/* wgsl */ `
      struct Edge { to: u32, length: f32 }
      @group(0) @binding(0) var<storage, read> width: u32;
      @group(0) @binding(1) var<storage, read> places: array<u32>;
      @group(0) @binding(2) var<storage, read> edges: array<Edge>;
      @group(0) @binding(3) var<storage, read> input: array<f32>;
      @group(0) @binding(4) var<storage, read_write> output: array<f32>;
      fn at(place: u32) -> f32 { return input[place]; }
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { ${body} }`).module,
  );
  return hasIndirectAccess(program, functionsOf(program).find((fn) => stageOf(fn) === "compute")!);
};

it.each([
  ["output[id.x] = input[id.x];", false],
  ["output[id.x] = input[places[id.x]];", true],
  ["output[places[id.x]] = input[id.x];", true],
  ["output[id.x] = input[edges[id.x].to];", true],
  ["let j = places[id.x]; let k = j + 1u; output[id.x] = input[k];", true],
  ["output[id.x] = at(places[id.x] + 1u);", true],
  ["output[id.x] = at(id.x);", false],
  ["output[id.x] = input[id.x * width];", false],
  ["var j = id.x; for (var n = 0u; n < 9u; n++) { output[id.x] += input[j]; j = places[j]; }", true],
])("finds indirect accesses in: %s", (body, expected) => {
  expect(isIndirect(body)).toBe(expected);
});

import { expect, it } from "vitest";
import { functionsOf, stageOf } from "../analysis/callGraph.ts";
import { parse } from "../wgsl/parser.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { gatheredBuffers } from "./gatheredBuffers.ts";

const gatheredBy = (body: string) => {
  const program = resolve(
    parse(/* wgsl */ `
      struct Shape { width: u32 }
      struct Edge { to: u32, length: f32 }
      @group(0) @binding(0) var<storage, read> shape: Shape;
      @group(0) @binding(1) var<storage, read> places: array<u32>;
      @group(0) @binding(2) var<storage, read> edges: array<Edge>;
      @group(0) @binding(3) var<storage, read> input: array<f32>;
      @group(0) @binding(4) var<storage, read_write> output: array<f32>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { ${body} }`).module,
  );
  const kernel = functionsOf(program).find((fn) => stageOf(fn) === "compute")!;
  return [...gatheredBuffers(program, kernel)].map(({ name }) => name);
};

it.each([
  ["output[id.x] = input[id.x];", []],
  ["output[id.x] = input[places[id.x]];", ["input"]],
  ["output[places[id.x]] = input[id.x];", ["output"]],
  ["output[id.x] = input[edges[id.x].to];", ["input"]],
  ["let j = places[id.x]; let k = j + 1u; output[id.x] = input[k];", ["input"]],
  ["output[id.x] = input[id.x * shape.width];", []],
  ["for (var i = places[id.x]; i < 9u; i++) { output[id.x] += input[i]; }", []],
])("of %s", (body, gathered) => {
  expect(gatheredBy(body)).toEqual(gathered);
});

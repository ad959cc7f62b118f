import { expect, it } from "vitest";
import { typed } from "../../../../test/support/wgsl/goldens.ts";
import { functionsOf } from "./callGraph.ts";
import { estimateWork } from "./workEstimate.ts";

const declarations = /* wgsl */ `
@group(0) @binding(0) var<storage, read> input: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> output: array<vec4f>;
var<workgroup> tile: array<f32, 64>;
fn scaled(v: vec4f) -> vec4f { return v * 2.0 + 1.0; }`;

const workOf = (body: string, marked?: string) => {
  const program = typed(
    `${declarations}\n@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { ${body} }`,
  );
  const variables = program.module.declarations.filter(
    (each) => each.kind === "globalVariable" && each.name === marked,
  );
  return estimateWork(program, functionsOf(program).find(({ name }) => name === "main")!, new Set(variables));
};

it("counts operations word by word, and bytes access by access", () => {
  expect(workOf("output[i] = input[i] + 1.0;")).toEqual({
    operations: 4,
    accesses: 2,
    bytes: 32,
    storageAccesses: 2,
    markedAccesses: 0,
    localArrays: 0,
    widestStorage: 16,
    widestWorkgroup: 0,
  });
});

it("counts the work of called functions", () => {
  expect(workOf("output[i] = scaled(input[i]);").operations).toBe(8);
});

it("counts accesses to given buffers apart", () => {
  const body = "for (var k = 0u; k < 9u; k++) { output[i] += input[k]; }";
  expect(workOf(body, "output")).toMatchObject({ storageAccesses: 27, markedAccesses: 18 });
});

it("multiplies the work of a loop by its trips, but not the bytes that caches hold", () => {
  const work = workOf(
    "var sum = vec4f(); for (var k = 0u; k < 100u; k++) { sum += input[k]; } output[i] = sum;",
  );
  expect(work).toMatchObject({ accesses: 101, bytes: 16 });
  expect(work.operations).toBeGreaterThanOrEqual(100);
});

it("counts new bytes in each iteration of a short loop", () => {
  const work = workOf(
    "var sum = vec4f(); for (var k = 0u; k < 10u; k++) { sum += input[k]; } output[i] = sum;",
  );
  expect(work).toMatchObject({ accesses: 11, bytes: 11 * 16 });
  expect(work.operations).toBeGreaterThanOrEqual(10);
});

it("assumes that a loop of unknown length runs more than once", () => {
  expect(workOf("for (var k = i; k > 0u; k /= 2u) { tile[k] = 1.0; }").accesses).toBeGreaterThan(1);
});

it("separates workgroup memory from storage", () => {
  expect(workOf("tile[i] = 1.0;")).toMatchObject({
    accesses: 1,
    bytes: 0,
    widestStorage: 0,
    widestWorkgroup: 4,
  });
});

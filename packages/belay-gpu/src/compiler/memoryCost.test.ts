import { describe, expect, it } from "vitest";
import { typed } from "../../../../test/support/wgsl/goldens.ts";
import { functionsOf } from "../analysis/callGraph.ts";
import { runSubgroup } from "../analysis/subgroup/subgroupRun.ts";
import { type Rates, timeOf, timesOf } from "./memoryCost.ts";

/** Numbers in which bytes and operations are seconds. */
const rates: Rates = { memory: 1, cache: 1, flops: 2, integers: 1, invocations: 0.1 };

const timesFor = (body: string, own = rates) => {
  const program = typed(/* wgsl */ `
@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;
@group(0) @binding(2) var<storage, read> wide: array<vec4f>;
@group(0) @binding(3) var<storage, read> indices: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { let i = id.x; ${body} }`);
  return timesOf([runSubgroup(program, functionsOf(program)[0]!)], own);
};

describe("the bytes of memory", () => {
  it("are those of whole sectors that are touched, each once", () => {
    expect(timesFor("output[i] = input[i];").memory).toBe(8);
    expect(timesFor("output[i] = input[i] + input[i + 8u];").memory).toBe(4 + 5);
    expect(timesFor("output[2u * i] = input[8u * i];").memory).toBe(8 + 32);
    expect(timesFor("output[i] = input[indices[i]];").memory).toBe(4 + 32 + 4);
  });

  it("of loops are those of caches", () => {
    const { memory, cache } = timesFor("for (var k = 0u; k < 10u; k++) { output[i] += input[i + 64u * k]; }");
    expect(memory).toBe(0);
    expect(cache).toBe(10 * (4 + 4 + 4));
  });
});

describe("the bytes of caches", () => {
  it("are loaded once by accesses that go together, and stored again and again", () => {
    expect(timesFor("let x = wide[i].x + wide[i].y + wide[i].z;").cache).toBe(16);
    expect(timesFor("output[2u * i] = 0; output[2u * i + 1u] = 0;").cache).toBe(2 * 8 * 1.5);
  });

  it("are in lines of the first cache", () => {
    expect(timesFor("let x = wide[i];").lines).toBe(16);
    expect(timesFor("let x = wide[i].x;").lines).toBe(16);
    expect(timesFor("let x = input[i];").lines).toBe(4);
    expect(timesFor("let x = input[32u * i];").lines).toBe(128);
  });
});

it("is latency where little else is done, and next to the largest of parts that overlap", () => {
  const times = timesFor("output[i] = input[i];", { ...rates, flops: 100, integers: 50 });
  expect(times.latency).toBe(10);
  expect(timeOf(times)).toBeGreaterThan(10);
  expect(timeOf(times)).toBeLessThan(13);
});

it("counts what an access and an invocation take beside the operations of the text", () => {
  const [none, one] = [timesFor("let x = i;"), timesFor("output[i] = 0;")];
  expect(none.integers).toBeGreaterThan(0);
  expect(one.integers).toBeGreaterThan(none.integers);
  expect(one.instructions).toBeGreaterThan(none.instructions);
});

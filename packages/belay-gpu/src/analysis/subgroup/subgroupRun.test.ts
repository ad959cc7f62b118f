import { describe, expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { functionsOf } from "../callGraph.ts";
import { type RunOptions, runSubgroup } from "./subgroupRun.ts";

const run = (body: string, { size = "64", ...options }: RunOptions & { size?: string } = {}) => {
  const program = typed(/* wgsl */ `
struct Shape { width: u32, stride: u32 }
@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> input: array<vec4f>;
@group(0) @binding(2) var<storage, read> indices: array<u32>;
@group(0) @binding(3) var<storage, read_write> output: array<f32>;
@group(0) @binding(4) var<storage, read_write> counts: array<atomic<u32>>;
var<workgroup> tile: array<vec2f, 64>;
fn twice(i: u32) -> u32 { if (i > 1000u) { return 0u; } return 2u * i; }
fn tell() { output[9] = 1.0; }
@compute @workgroup_size(${size}) fn main(
  @builtin(global_invocation_id) id: vec3u,
  @builtin(local_invocation_id) local: vec3u,
  @builtin(local_invocation_index) i: u32,
) { ${body} }`);
  return runSubgroup(program, functionsOf(program).find(({ name }) => name === "main")!, options);
};

const addresses = (body: string, options = {}) =>
  run(body, options).accesses.map(({ variable, kind, addresses }) => [
    variable.name,
    kind,
    addresses.slice(0, 4),
  ]);

describe("the addresses of lanes", () => {
  it("follow from the indices of invocations", () => {
    expect(addresses("output[id.x] = input[i + 1u].y;")).toEqual([
      ["input", "load", [20, 36, 52, 68]],
      ["output", "store", [256, 260, 264, 268]],
    ]);
    expect(addresses("output[local.x + 10u * local.y] = 0;", { size: "2, 16" })).toEqual([
      ["output", "store", [0, 4, 40, 44]],
    ]);
  });

  it("are followed through arithmetic, variables and functions", () => {
    const body =
      "var at = vec3u(i, 0, 0); at.x = at.x ^ 1u; at.x += 4u; let far = select(at.x, 99u, i == 2u); output[twice(far)] = 0;";
    expect(addresses(body)).toEqual([["output", "store", [40, 32, 8 * 99, 48]]]);
  });

  it("are known next to components that are computed from floats", () => {
    const [, store] = addresses("let pair = vec2u(bitcast<u32>(input[i].x), i); output[pair.y] = 0;");
    expect(store).toEqual(["output", "store", [0, 4, 8, 12]]);
  });

  it("are not changed by the limits of an index", () => {
    expect(
      addresses("output[min(i, shape.width - 1u)] = input[clamp(i, 0u, arrayLength(&input))].x;"),
    ).toEqual([
      ["input", "load", [0, 16, 32, 48]],
      ["shape", "load", [0, 0, 0, 0]],
      ["output", "store", [0, 4, 8, 12]],
    ]);
  });

  it("differ between lanes after a load, unless the lanes load from one place", () => {
    const [, gathered] = run("output[0] = input[indices[i]].x;").accesses;
    expect(new Set(gathered!.addresses).size).toBe(32);
    const [, shared] = run("output[0] = input[indices[i / 8u] + i % 8u].x;").accesses;
    const lines = shared!.addresses.map((address, lane) => address - 16 * (lane % 8));
    expect(new Set(lines).size).toBe(4);
  });

  it("are those of the lanes that take a branch, or of all if a branch does not diverge", () => {
    expect(run("if (i % 4u == 0u) { output[i] = 1; } else { output[i] = 2; }").accesses).toMatchObject([
      { addresses: [0, 16, 32, 48, 64, 80, 96, 112] },
      { addresses: { length: 24 } },
    ]);
    expect(run("if (shape.width == 0u) { output[i] = 1; } else { output[i] = 2; }").accesses).toHaveLength(3);
  });

  it("are recorded apart for atomic operations and workgroup memory", () => {
    expect(addresses("atomicAdd(&counts[i], 1u); tile[i] = vec2f(); output[i] = tile[i ^ 1u].x;")).toEqual([
      ["counts", "atomic", [0, 4, 8, 12]],
      ["tile", "store", [0, 8, 16, 24]],
      ["tile", "load", [8, 0, 24, 16]],
      ["output", "store", [0, 4, 8, 12]],
    ]);
  });
});

it("counts operations by kind, and multiplies those of loops", () => {
  expect(run("output[i + 1u] = 2.0 * output[i] + 1.0;")).toMatchObject({
    integerOperations: 1,
    floatOperations: 2,
  });
  const timesOf = (body: string) => run(body).accesses.map(({ times }) => times);
  expect(timesOf("for (var k = 0u; k < 10u; k++) { output[i + k] = 0; }")).toEqual(Array(10).fill(1));
  expect(timesOf("for (var k = 0u; k < 80u; k++) { output[i + k] = 0; }")).toEqual(Array(16).fill(5));
  expect(timesOf("while (true) { output[i] = 0; }")).toHaveLength(16);
});

it("executes the iterations of a loop with the lanes that remain", () => {
  const { accesses } = run("for (var k = 16u; k > 0u; k /= 2u) { if (i < k) { output[i + k] = 0; } }");
  expect(accesses.map(({ addresses }) => addresses.length)).toEqual([16, 8, 4, 2, 1]);
  expect(new Set(accesses.map(({ trip }) => trip)).size).toBe(5);
});

it("treats a loop that ends in a break as a block", () => {
  const { accesses } = run("loop { if (i > 40u) { break; } output[i] = 1; break; }");
  expect(accesses).toMatchObject([{ times: 1, trip: 0 }]);
});

it("skips code that is rarely executed", () => {
  const isCold = ({ name }: { name: string }) => name === "tell";
  const body = "if (i == 3u) { output[i] = 1; tell(); }";
  expect(run(body).accesses).toHaveLength(2);
  expect(run(body, { isCold }).accesses).toHaveLength(0);
});

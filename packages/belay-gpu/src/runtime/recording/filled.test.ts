/**
 * The ranges that dispatches are known to overwrite, compared with the ranges that change on a
 * device.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { protect } from "../../compiler/protect.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import { filledBy, workgroupsOf } from "./filled.ts";

const { newDevice } = testDevices();

/** The size of the bound buffer in bytes, and the value of words without a store. */
const BYTES = 1024;
const OFFSET = 256;
const BEFORE = 0x11;

interface Shape {
  /** The declaration of binding 0, if it is no array of u32. `out` is the overwritten variable. */
  readonly declarations?: string;
  readonly size?: string;
  readonly body: string;
  readonly grid?: readonly number[];
  /** The size of the binding in bytes. */
  readonly bound?: number;
  readonly constants?: Readonly<Record<string, number>>;
  /** The range that is known to be overwritten, as offset into the binding and size. */
  readonly filled: readonly (readonly [offset: number, size: number])[];
}

const array = (type: string) => `@group(0) @binding(0) var<storage, read_write> out: array<${type}>;`;
const all = [[0, 256]] as const;
const nothing = [] as const;

const shapes: Record<string, Shape> = {
  "a store by each invocation": { body: "out[id.x] = 1;", filled: all },
  "a grid that goes beyond the end": { body: "out[id.x] = 1;", grid: [9], filled: all },
  "a grid that ends before": { body: "out[id.x] = 1;", grid: [3], filled: [[0, 192]] },
  "a grid without workgroups": { body: "out[id.x] = 1;", grid: [4, 0], filled: nothing },
  "a binding with a tail": { body: "out[id.x] = 1;", bound: 244, filled: [[0, 244]] },
  "a tail that no element fits in": {
    declarations: array("vec4u"),
    body: "out[id.x] = vec4u(1);",
    bound: 248,
    filled: [[0, 240]],
  },
  "a guard": { body: "if (id.x < arrayLength(&out)) { out[id.x] = 1; }", filled: all },
  "a guard that is turned around": { body: "if (arrayLength(&out) > id.x) { out[id.x] = 1; }", filled: all },
  "a return before": { body: "if (id.x >= arrayLength(&out)) { return; } out[id.x] = 1;", filled: all },
  "an else": { body: "if (id.x >= arrayLength(&out)) { } else { out[id.x] = 1; }", filled: all },
  "a constant bound": { body: "if (id.x < 20u) { out[id.x] = 1; }", filled: [[0, 80]] },
  "a bound that counts": { body: "if (id.x <= 20u) { out[id.x] = 1; }", filled: [[0, 84]] },
  "the smaller of two bounds": {
    body: "if (id.x < 30u && id.x < 20u) { out[id.x] = 1; }",
    filled: [[0, 80]],
  },
  "one of two returns": {
    body: "if (id.x > 30u || id.x >= 20u) { return; } out[id.x] = 1;",
    filled: [[0, 80]],
  },
  "not beyond": { body: "if (!(id.x >= 20u)) { out[id.x] = 1; }", filled: [[0, 80]] },
  "a bound with a name": {
    body: "let i = id.x; let n = arrayLength(&out); let end = i32(n); if (i32(i) >= end) { return; } out[i] = 1;",
    filled: all,
  },
  "the length of another array": {
    declarations: `${array("u32")} @group(0) @binding(1) var<storage, read> other: array<vec2u>;`,
    body: "if (id.x < arrayLength(&other)) { out[id.x] = other[id.x].x + 1; }",
    filled: [[0, 128]],
  },
  "a variable that does not change": { body: "var i = id.x; out[i] = 1;", filled: all },
  "a variable that changes": { body: "var i = id.x; i += 1; out[i] = 1;", filled: nothing },
  "a variable that a pointer changes": {
    body: "var i = id.x; let p = &i; *p = 3; out[i] = 1;",
    filled: nothing,
  },
  "workgroups and lanes": { body: "out[wid.x * 16 + lid.x] = 1;", filled: all },
  "workgroups and lanes that are too few": { body: "out[wid.x * 32 + lid.x] = 1;", filled: [[0, 64]] },
  "the index in the workgroup": {
    size: "4, 4",
    body: "out[(wid.x << 4u) + index] = 1;",
    filled: all,
  },
  "two dimensions": { size: "4, 4", grid: [2, 2], body: "out[id.y * 8 + id.x] = 1;", filled: all },
  "two dimensions whose rows overlap": {
    size: "4, 4",
    grid: [2, 2],
    body: "out[id.y * 6 + id.x] = 1;",
    filled: [[0, 200]],
  },
  "two dimensions whose rows are apart": {
    size: "4, 4",
    grid: [2, 2],
    body: "out[id.y * 9 + id.x] = 1;",
    filled: [[0, 32]],
  },
  "two dimensions with guards": {
    size: "4, 4",
    grid: [3, 3],
    body: "if (id.x >= 8 || id.y >= 7) { return; } out[id.y * 8 + id.x] = 1;",
    filled: [[0, 224]],
  },
  "rows as long as the grid": {
    size: "4, 4",
    grid: [2, 2],
    body: "out[id.y * (groups.x * 4) + id.x] = 1;",
    filled: all,
  },
  "the last dimension": { size: "1, 1, 8", grid: [1, 1, 8], body: "out[id.z] = 1;", filled: all },
  "more dimensions than the index has": {
    size: "4, 4",
    grid: [16, 2],
    body: "if (id.y < 3) { out[id.x] = 1; }",
    filled: all,
  },
  "one lane of each workgroup": { grid: [64], body: "if (lid.x == 0) { out[wid.x] = 1; }", filled: all },
  "one lane of a workgroup with two dimensions": {
    size: "4, 4",
    grid: [64],
    body: "if (index == 0u) { out[wid.x] = 1; }",
    filled: all,
  },
  "another lane": { grid: [64], body: "if (lid.x == 1) { out[wid.x] = 1; }", filled: nothing },
  "all lanes but one": { body: "if (lid.x != 1) { out[id.x] = 1; }", filled: nothing },
  "an offset": { body: "out[id.x + 4] = 1;", filled: [[16, 240]] },
  "two elements each": {
    body: "out[2 * id.x] = 1; out[id.x * 2 + 1] = 2;",
    grid: [2],
    filled: all,
  },
  "one of two elements": { body: "out[2 * id.x] = 1;", filled: nothing },
  vectors: { declarations: array("vec4u"), body: "out[id.x] = vec4u(1);", grid: [1], filled: all },
  "vectors with padding": { declarations: array("vec3u"), body: "out[id.x] = vec3u(1);", filled: nothing },
  "all components": {
    declarations: array("vec2u"),
    body: "out[id.x].y = 1; out[id.x].x = 2;",
    grid: [2],
    filled: all,
  },
  "one component": { declarations: array("vec2u"), body: "out[id.x].y = 1;", filled: nothing },
  "what depends on what was there": { body: "out[id.x] = out[id.x] + 1;", filled: all },
  matrices: {
    declarations: array("mat2x2f"),
    body: "out[id.x] = mat2x2f(1, 2, 3, 4);",
    filled: all,
  },
  "matrices with padding": {
    declarations: array("mat2x3f"),
    body: "out[id.x] = mat2x3f(1, 2, 3, 4, 5, 6);",
    filled: nothing,
  },
  structs: {
    declarations: `struct Pair { a: u32, b: f32 } ${array("Pair")}`,
    body: "out[id.x] = Pair(1, 2);",
    grid: [2],
    filled: all,
  },
  "structs with padding": {
    declarations: `struct Pair { a: u32, @align(8) b: f32 } ${array("Pair")}`,
    body: "out[id.x] = Pair(1, 2);",
    filled: nothing,
  },
  "structs with padding at the end": {
    declarations: `struct Pair { a: vec2u, b: f32 } ${array("Pair")}`,
    body: "out[id.x] = Pair(vec2u(1), 2);",
    filled: nothing,
  },
  "structs by their members": {
    declarations: `struct Pair { a: u32, b: f32 } ${array("Pair")}`,
    body: "out[id.x].a = 1; out[id.x].b = 2;",
    grid: [2],
    filled: all,
  },
  "a member with more than it needs": {
    declarations: `struct Pair { a: u32, @size(12) b: f32 } ${array("Pair")}`,
    body: "out[id.x].a = 1; out[id.x].b = 2;",
    filled: nothing,
  },
  "an array in a struct": {
    declarations:
      "struct List { count: vec2u, items: array<u32> } @group(0) @binding(0) var<storage, read_write> out: List;",
    body: "if (id.x < arrayLength(&out.items)) { out.items[id.x] = 1; }",
    filled: [[8, 248]],
  },
  "a struct and its array": {
    declarations:
      "struct List { count: vec2u, items: array<u32> } @group(0) @binding(0) var<storage, read_write> out: List;",
    body: "out.items[id.x] = 1; if (id.x == 0) { out.count = vec2u(3); }",
    filled: [
      [8, 248],
      [0, 8],
    ],
  },
  "an array with a length": {
    declarations: "@group(0) @binding(0) var<storage, read_write> out: array<u32, 50>;",
    body: "out[id.x] = 1;",
    filled: [[0, 200]],
  },
  "one value": {
    declarations: "@group(0) @binding(0) var<storage, read_write> out: vec4u;",
    body: "out = vec4u(2);",
    filled: [[0, 16]],
  },
  "an index that is converted": { body: "out[u32(i32(id.x))] = 1;", filled: all },
  "an override": {
    declarations: `override wide = 8u; ${array("u32")}`,
    size: "wide",
    constants: { wide: 16 },
    body: "out[wid.x * wide + lid.x] = 1;",
    filled: all,
  },
  "an override with its default": {
    declarations: `override wide = 8u; ${array("u32")}`,
    size: "wide",
    body: "out[id.x] = 1;",
    filled: [[0, 128]],
  },
  "a condition on contents": { body: "if (out[id.x] > 0) { out[id.x] = 1; }", filled: nothing },
  "a condition on contents and a bound": {
    body: "if (id.x < 64 && out[id.x] > 0) { out[id.x] = 1; }",
    filled: nothing,
  },
  "a bound less one": { body: "if (id.x < arrayLength(&out) - 1) { out[id.x] = 1; }", filled: nothing },
  "a return that contents decide": {
    body: "if (out[0] > 5) { return; } out[id.x] = 1;",
    filled: nothing,
  },
  "a return in a loop": {
    body: "for (var i = 0u; i < 3; i++) { if (i == id.x) { return; } } out[id.x] = 1;",
    filled: nothing,
  },
  "a return deep inside": {
    body: "if (id.x < 64) { if (out[id.x] == 3) { return; } } out[id.x] = 1;",
    filled: nothing,
  },
  "a return in both branches": {
    body: "if (id.x < 3) { return; } else { return; } out[id.x] = 1;",
    filled: nothing,
  },
  "a loop before": {
    body: "var s = 0u; for (var i = 0u; i < 3; i++) { s += i; } out[id.x] = s + 1;",
    filled: all,
  },
  "a store in a loop": { body: "for (var i = 0u; i < 64; i++) { out[i] = 1; }", filled: nothing },
  "a store in a switch": { body: "switch (id.x) { default: { out[id.x] = 1; } }", filled: nothing },
  "an index that wraps": { body: "out[id.x - 1] = 1;", filled: nothing },
  "an index modulo": { body: "out[id.x % 8] = 1;", filled: nothing },
  "an index from contents": { body: "out[out[id.x]] = 1;", filled: nothing },
  "an update": { body: "out[id.x] += 1;", filled: nothing },
  atomics: {
    declarations: array("atomic<u32>"),
    body: "atomicStore(&out[id.x], 1);",
    filled: nothing,
  },
  "a store through a pointer": { body: "let p = &out[id.x]; *p = 1;", filled: nothing },
};

/** Returns the overwritten range according to the compiler and the runtime. */
function known({ declarations = array("u32"), size = "16", body, grid = [4], constants = {} }: Shape) {
  const code = `${declarations}
@compute @workgroup_size(${size}) fn fill(
  @builtin(global_invocation_id) id: vec3u, @builtin(workgroup_id) wid: vec3u, @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_id) lid: vec3u, @builtin(local_invocation_index) index: u32) { ${body} }`;
  const [summary] = protect(code, { redundancy: "none", constants }).entryPoints;
  return { code, grid, constants, fills: summary!.fills ?? [] };
}

let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

/** Returns the bound bytes that a dispatch changed. */
async function changed(shape: Shape): Promise<readonly boolean[]> {
  const { code, grid, constants } = known(shape);
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const make = (usage: number) => device.createBuffer({ size: BYTES, usage: usage | COPY_DST });
  const [out, other, staging] = [make(STORAGE | COPY_SRC), make(STORAGE), make(MAP_READ)];
  device.queue.writeBuffer(out, 0, new Uint8Array(BYTES).fill(BEFORE));
  const compute = { module: device.createShaderModule({ code }), constants };
  const pipeline = device.createComputePipeline({ layout: "auto", compute });
  const bound = { offset: OFFSET, size: shape.bound ?? 256 };
  const entries = [{ binding: 0, resource: { buffer: out, ...bound } }];
  if (code.includes("@binding(1)")) entries.push({ binding: 1, resource: { buffer: other, ...bound } });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.dispatchWorkgroups(grid[0]!, grid[1], grid[2]);
  pass.end();
  encoder.copyBufferToBuffer(out, staging);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const words = new Uint32Array(staging.getMappedRange(OFFSET, 256));
  // All bytes of a word change together.
  return [...words].flatMap((word) => new Array<boolean>(4).fill(word !== 0x01010101 * BEFORE));
}

describe.each(Object.entries(shapes))("%s", (_, shape) => {
  it("overwrites the known range", async () => {
    const { fills, grid } = known(shape);
    const range: BufferRange = { buffer: {} as GPUBuffer, offset: OFFSET, size: shape.bound ?? 256 };
    const found = filledBy(fills, workgroupsOf(grid), () => range);
    expect(found.map(({ offset, size }) => [offset - OFFSET, size])).toEqual(shape.filled);
    const bytes = await changed(shape);
    for (const [offset, size] of shape.filled)
      expect(bytes.slice(offset, offset + size).every((each) => each)).toBe(true);
  });
});

it("converts the arguments of a dispatch as WebGPU does", () => {
  expect(workgroupsOf([3])).toEqual([3, 1, 1]);
  expect(workgroupsOf([2.7, undefined, null])).toEqual([2, 1, 0]);
  expect(workgroupsOf(["4", 5, 6])).toEqual([4, 5, 6]);
});

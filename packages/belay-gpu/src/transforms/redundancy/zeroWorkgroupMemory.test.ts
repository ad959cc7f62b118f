import { expect, it } from "vitest";
import { runReference, translated } from "../../../../../test/support/kernels/reference.ts";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { Names } from "../shared/names.ts";
import { zeroed } from "./zeroWorkgroupMemory.ts";

const LANES = 4;

/**
 * Fills a workgroup variable with ones, and lets a team set it to zero. Returns the sums of its
 * words before and after.
 */
function sums(type: string, fill: string, sum: string, clear = (text: string) => text): number[] {
  const declarations = `
    override length = 6;
    struct Counts { all: atomic<u32>, each: array<atomic<u32>, 3> }
    var<workgroup> memory: ${type};`;
  const program = typed(declarations);
  const variable = program.module.declarations.at(-1);
  if (variable?.kind !== "globalVariable") throw new Error("the last declaration is the variable");
  const statements = zeroed(program, new Names(program), variable, { index: "lane", count: `${LANES}u` });
  const source = `
    ${declarations}
    @group(0) @binding(0) var<storage, read_write> sums: array<u32>;
    fn sum() -> u32 { var sum = 0u; ${sum} return sum; }
    @compute @workgroup_size(${LANES}) fn main(@builtin(local_invocation_index) lane: u32) {
      if (lane == 0u) { ${fill} sums[0] = sum(); }
      workgroupBarrier();
      ${clear(statements)}
      workgroupBarrier();
      if (lane == 0u) { sums[1] = sum(); }
    }`;
  const input = { buffers: { 0: new Uint32Array(2) }, workgroups: [1, 1, 1] } as const;
  const { buffers, undecided } = runReference(translated(source, input), input);
  expect(undecided).toBeUndefined();
  return [...new Uint32Array(buffers[0]!.bytes.buffer)];
}

const rows = "for (var i = 0; i < 15; i++)";
const counts = "for (var i = 0; i < 9; i++)";

it.each([
  ["vec3u", "memory = vec3u(1);", "sum = memory.x + memory.y + memory.z;", 3],
  [
    "array<array<u32, 3>, 5>",
    `${rows} { memory[i / 3][i % 3] = 1; }`,
    `${rows} { sum += memory[i / 3][i % 3]; }`,
    15,
  ],
  [
    "array<u32, length>",
    "for (var i = 0; i < length; i++) { memory[i] = 1; }",
    "for (var i = 0; i < length; i++) { sum += memory[i]; }",
    6,
  ],
  ["atomic<u32>", "atomicStore(&memory, 1);", "sum = atomicLoad(&memory);", 1],
  [
    "array<Counts, 3>",
    `${counts} { atomicStore(&memory[i / 3].all, 1); atomicStore(&memory[i / 3].each[i % 3], 1); }`,
    `${counts} { sum += atomicLoad(&memory[i / 3].each[i % 3]); } for (var i = 0; i < 3; i++) { sum += atomicLoad(&memory[i].all); }`,
    12,
  ],
])("sets all of %s to zero", (type, fill, sum, words) => {
  expect(sums(type, fill, sum)).toEqual([words, 0]);
});

it("lets each invocation of the team set some elements", () => {
  const fill = "for (var i = 0; i < 15; i++) { memory[i] = 1; }";
  const sum = "for (var i = 0; i < 15; i++) { sum += memory[i]; }";
  const without = (lane: number) =>
    sums("array<u32, 15>", fill, sum, (statements) => `if (lane != ${lane}u) { ${statements} }`)[1];
  expect([0, 1, 2, 3].map(without)).toEqual([4, 4, 4, 3]);
});

import { expect, it } from "vitest";
import { residentKernel } from "./residentKernels.ts";

it("wraps the indices of runtime-sized buffers around, and no others", () => {
  const code = residentKernel(`
struct Rows { count: u32, rows: array<vec4f> }
@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: Rows;
@group(0) @binding(2) var<storage, read> table: array<u32, 16>;
var<workgroup> shared_words: array<u32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) local: u32) {
  shared_words[local] = table[id.x % 16u] + input[input[id.x]];
  output.rows[i32(id.x)].x += f32(shared_words[local]);
}`);
  expect(code).toContain("input[input[id.x & 262143] & 262143]");
  expect(code).toContain("output.rows[i32(id.x) & 65535].x");
  expect(code).toContain("shared_words[local] = table[id.x % 16u]");
});

import { expect, it } from "vitest";
import { protect } from "./protect.ts";

/** A kernel whose workgroups have so many words of memory. */
const kernel = (words: number) => `
  @group(0) @binding(0) var<storage, read> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> b: array<u32>;
  var<workgroup> tile: array<u32, ${words}>;
  @compute @workgroup_size(8)
  fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) local: u32) {
    tile[local] = a[id.x];
    workgroupBarrier();
    b[id.x] = tile[7 - local];
  }`;

it.each([
  [4088, "summed"],
  [4090, "bracketed"],
])("a kernel with %i words of workgroup memory has its buffers %s", (words, mode) => {
  const limits = { maxComputeWorkgroupStorageSize: 16_384 };
  const { entryPoints } = protect(kernel(words), { redundancy: "none", memory: "checksum", limits });
  expect(entryPoints[0]?.memory?.bindings.map((each) => each.mode)).toEqual([mode, mode]);
});

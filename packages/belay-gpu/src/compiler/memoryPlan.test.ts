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
  [4090, "passVerified"],
])("a kernel with %i words of workgroup memory has its buffers %s", (words, mode) => {
  const limits = { maxComputeWorkgroupStorageSize: 16_384 };
  const { entryPoints } = protect(kernel(words), { redundancy: "none", memory: "checksum", limits });
  expect(entryPoints[0]?.memory?.bindings.map((each) => each.mode)).toEqual([mode, mode]);
});

it.each([
  [undefined, "summed", [true, true]],
  [0, "summed", [true, false]],
  [1, "summed", [false, true]],
  [2, "passVerified", [false, false]],
] as const)(
  "of two loads, where %s is the only one that is wanted, the buffer is %s",
  (site, mode, summed) => {
    const of = { group: 0, binding: 0 };
    const code = `
    @group(0) @binding(0) var<storage, read> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> b: array<u32>;
    @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
      b[id.x] = a[id.x + 5] + a[id.x + 7];
    }`;
    const bindings = [{ of, scheme: "checksum" as const, ...(site !== undefined && { site }) }];
    const result = protect(code, { redundancy: "none", memory: { default: "checksum", bindings } });
    expect(result.entryPoints[0]?.memory?.bindings[0]?.mode).toBe(mode);
    const isSummed = (offset: number) => !result.code.includes(`a[id.x + ${offset}]`);
    expect([isSummed(5), isSummed(7)]).toEqual(summed);
  },
);

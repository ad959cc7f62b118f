/** Kernels that few would write, and that devices take: each one was found by changing others at random. */
import { describe, expect, it } from "vitest";
import type { ProtectOptions } from "./contract.ts";
import { protect } from "./protect.ts";

const kernels: Record<string, string> = {
  "indices far outside, known beforehand": `
    @group(0) @binding(0) var<storage, read_write> a: array<vec4f>;
    @group(0) @binding(1) var<storage, read_write> n: array<atomic<u32>>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
      a[0x7fffffff] = a[4294967295u] + a[id.x];
      a[id.x].w = a[536870912u].y;
      atomicAdd(&n[2147483648u], id.x);
    }`,
  "a loop that only a return leaves, before a break": `
    @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    fn next(i: u32) -> u32 {
      loop { if (i > 3u) { continue; } return a[i] + 1u; break; }
    }
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { a[id.x] = next(id.x); }`,
  "kernels that change the same buffer, behind their own stores": `
    @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @compute @workgroup_size(64) fn once(@builtin(global_invocation_id) id: vec3u) {
      a[id.x] = 1u; a[id.x] += a[id.y];
    }
    @compute @workgroup_size(64) fn twice(@builtin(global_invocation_id) id: vec3u) {
      a[id.x] = 2u; a[id.x] += a[id.y];
    }`,
  "a kernel that loads for nothing, and returns early": `
    @group(0) @binding(0) var<storage, read> a: array<u32>;
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
      if (id.x > 3u) { return; }
      if (a[id.x] > a[id.y]) {}
    }`,
};

const ways: readonly ProtectOptions[] = [
  { check: "store" },
  { redundancy: "inter" },
  { redundancy: "inter", check: "store" },
  { redundancy: "inter", check: "store", memory: "secded32" },
  { pairing: "passes", memory: "detect" },
  { redundancy: "none", memory: "secded128" },
  { injectFaults: true },
  { injectFaults: "profile" },
];

describe.each(Object.entries(kernels))("%s", (_, code) => {
  it.each(ways)("are protected with %j", (way) => {
    const limits = { maxStorageBuffersPerShaderStage: 10 };
    const { diagnostics } = protect(code, { ...way, limits });
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  });
});

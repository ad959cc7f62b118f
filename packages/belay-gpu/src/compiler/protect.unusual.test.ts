/**
 * Kernels that few would write, and that devices take: each one was found by changing others at
 * random.
 */
import { describe, expect, it } from "vitest";
import type { CompilerOptions } from "./contract.ts";
import { protect } from "./protect.ts";

const chain = (condition: (k: number) => string, then: (k: number) => string, otherwise: string) =>
  `${Array.from({ length: 120 }, (_, k) => `if (${condition(k)}) { ${then(k)} }`).join(" else ")} else { ${otherwise} }`;

const kernels: Record<string, string> = {
  "chains of 120 conditions that load, change memory, or return": `
    @group(0) @binding(0) var<storage, read> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    @group(0) @binding(2) var<storage, read_write> n: atomic<u32>;
    fn returned(i: u32) -> u32 { ${chain(
      (k) => `a[i] == ${k}u`,
      (k) => `return ${k}u;`,
      "return 7u;",
    )} }
    @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
      ${chain(
        (k) => (k % 3 === 0 ? `atomicAdd(&n, 1u) == ${k}u` : `a[id.x + ${k}u] == ${k}u`),
        (k) => `out[id.x] = ${k}u;`,
        "out[id.x] = returned(id.x);",
      )}
    }`,
  "calls whose results nobody uses": `
    @group(0) @binding(0) var<storage, read> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    @group(0) @binding(2) var<storage, read_write> n: atomic<u32>;
    var<workgroup> most: u32;
    fn load(i: u32) -> u32 { return a[i]; }
    @must_use fn next(i: u32) -> u32 { return a[i] + 1u; }
    fn put(i: u32) -> u32 { out[i] = a[i]; return a[i]; }
    fn count(i: u32, j: u32) -> u32 { most = j; return atomicMax(&n, i); }
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {
      load(i); load(load(i)); _ = load(i); _ = next(i); _ = load(i) + 1; _ = a[i];
      put(i); _ = put(i); count(i, 2u); count(atomicAdd(&n, 1u), load(i));
      atomicLoad(&n); atomicAdd(&n, load(i)); _ = atomicAdd(&n, 1u);
      atomicCompareExchangeWeak(&n, load(i), 2u); _ = atomicCompareExchangeWeak(&n, 1u, 2u);
      workgroupBarrier();
      _ = workgroupUniformLoad(&most);
      if (i > 2u) { load(i); }
      for (load(i); i > 70u; load(i)) { load(i); }
      switch (load(i)) { default: { load(i); } }
    }`,
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

const ways: readonly CompilerOptions[] = [
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

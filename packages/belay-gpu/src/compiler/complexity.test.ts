import { describe, expect, it } from "vitest";
import { callCounter } from "../../../../test/support/devices/countCalls.ts";
import type { CompilerOptions } from "./contract.ts";
import { protect } from "./protect.ts";

const callsOf = callCounter();

const callsToProtect = (wgsl: string, options: CompilerOptions) =>
  callsOf(() => expect(protect(wgsl, options).layout).not.toBeNull());

const times = (n: number, text: (i: number) => string) =>
  Array.from({ length: n }, (_, i) => text(i)).join("\n");

const bindings = `
  @group(0) @binding(0) var<storage, read> a: array<vec4f>;
  @group(0) @binding(1) var<storage, read_write> out: array<f32>;
  var<workgroup> tile: array<f32, 64>;
  fn scale(x: f32) -> f32 { return x * 2.0; }`;
const parameters = "@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) l: u32";
const step = (i: number) => `{
  var sum = dot(a[id.x + ${i}u], vec4f(1.0)) + scale(last);
  for (var k = 0u; k < 4u; k++) { sum += a[id.y][k]; }
  tile[l] = sum;
  workgroupBarrier();
  if (sum > 1.0) { last = tile[63u - l]; }
  out[id.x * ${i}u] = sum;
  workgroupBarrier();
}`;

const modules: Record<string, (n: number) => string> = {
  "entry points": (n) =>
    bindings +
    times(n, (i) => `@compute @workgroup_size(64) fn main${i}(${parameters}) { var last = 1.0; ${step(i)} }`),
  statements: (n) =>
    `${bindings} @compute @workgroup_size(64) fn main(${parameters}) { var last = 1.0; ${times(n, step)} }`,
  functions: (n) => `${bindings}
    ${times(n, (i) => `fn part${i}(x: u32) { out[x] = a[x].y; ${i === 0 ? "" : `part${i - 1}(x + 1u);`} }`)}
    @compute @workgroup_size(64) fn main(${parameters}) { part${n - 1}(l); }`,
  "values that a barrier depends on": (n) => `${bindings}
    @compute @workgroup_size(64) fn main(${parameters}) {
      let v0 = arrayLength(&a);
      ${times(n, (i) => `let v${i + 1} = v${i} + 1u;`)}
      if (v${n} > 3u) { workgroupBarrier(); }
      out[id.x] = a[id.x].y;
    }`,
};

const flavors: Record<string, CompilerOptions> = {
  "Intra-Group": {},
  "in two passes": { pairing: "passes" },
  "Inter-Group": { redundancy: "inter" },
  "memory alone": { redundancy: "none", memory: "secded128" },
  "with faults injected": { injectFaults: true },
};

/** Returns the work for one more of many, relative to the work for one more of few. */
async function growth(module: (n: number) => string, options: CompilerOptions): Promise<number> {
  // What is kept for the next time is not counted.
  protect(module(2), options);
  const [few = 0, some = 0, many = 0] = [
    await callsToProtect(module(4), options),
    await callsToProtect(module(8), options),
    await callsToProtect(module(16), options),
  ];
  return (many - some) / 2 / (some - few);
}

describe("the emitted text", () => {
  const stores = (n: number) => `${bindings}
    @compute @workgroup_size(64) fn main(${parameters}) {
      ${times(n, (i) => `out[id.x + ${1000 + i}u] = a[id.x][${i % 4}] * 2.0;`)}
    }`;
  const checks: Record<string, CompilerOptions> = {
    ...flavors,
    "comparison before stores": { check: "store" },
    "Inter-Group with comparison before stores": { redundancy: "inter", check: "store" },
  };

  it.each(Object.entries(checks))("grows in proportion to the stores: %s", (_, options) => {
    const [few = 0, some = 0, many = 0] = [10, 20, 40].map((n) => protect(stores(n), options).code.length);
    expect((many - some) / 2 / (some - few)).toBeLessThan(1.03);
  });
});

describe.each(Object.entries(flavors))("protecting %s", (_, options) => {
  it.each(Object.entries(modules))("takes work in proportion to the number of %s", async (_, module) => {
    expect(await growth(module, options)).toBeLessThan(1.03);
  });
});

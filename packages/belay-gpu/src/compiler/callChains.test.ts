import { describe, expect, it } from "vitest";
import { protect } from "./protect.ts";

const functions = (count: number, first: string, other: (i: number) => string, last: string) => `
  @group(0) @binding(0) var<storage, read_write> data: array<u32>;
  ${first}
  ${Array.from({ length: count - 1 }, (_, i) => other(i + 1)).join("\n")}
  @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { ${last} }`;

/** Chains whose calls do not fit a call stack, if each takes some frames. */
const chains = {
  results: functions(
    700,
    "fn f0(x: u32) -> u32 { return x * 3u; }",
    (i) => `fn f${i}(x: u32) -> u32 { return f${i - 1}(x + ${i}u) ^ 1u; }`,
    "data[id.x] = f699(id.x);",
  ),
  pointers: functions(
    700,
    "fn f0(p: ptr<storage, u32, read_write>) { *p += 1u; }",
    (i) => `fn f${i}(p: ptr<storage, u32, read_write>) { f${i - 1}(p); }`,
    "f699(&data[id.x]);",
  ),
};

describe("long call chains", () => {
  it.each(Object.entries(chains))("of %s are protected", (_, wgsl) => {
    const { chosen, diagnostics } = protect(wgsl, { redundancy: "auto" });
    expect(chosen?.redundancy).toMatch(/^(intra|inter)/);
    expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  });

  it("take no time for each path through functions that are called twice", () => {
    const wgsl = functions(
      40,
      "fn f0(x: u32) -> u32 { return x * 3u; }",
      (i) => `fn f${i}(x: u32) -> u32 { return f${i - 1}(x) ^ f${i - 1}(x + 1u); }`,
      "data[id.x] = f39(id.x);",
    );
    const start = wgsl.indexOf("x * 3u");
    const faults = [
      {
        source: wgsl,
        entryPoint: "main",
        values: [{ span: { start, end: start + 6 }, executions: 64, injected: 10, silent: 10 }],
      },
    ];
    const { code } = protect(wgsl, { redundancy: "auto", cover: { sdc: 0.99, faults } });
    expect(code).toContain("belay_same_u32(");
  });
});

import { describe, expect, it } from "vitest";
import { protect } from "../../compiler/protect.ts";

/** Returns the reasons why the kernel leaves buffers with lines of 128 bytes to its host. */
function whys(
  body: string,
  { type = "vec4u", features = ["subgroups"], size = "64", subgroupSize = 8 } = {},
): string[] {
  const code = `
    @group(0) @binding(0) var<storage, read> a: array<${type}>;
    @group(0) @binding(1) var<storage, read_write> b: array<${type}>;
    @group(0) @binding(2) var<uniform> n: vec4u;
    @compute @workgroup_size(${size}) fn main(
      @builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_id) local: vec3u,
      @builtin(local_invocation_index) index: u32, @builtin(workgroup_id) group: vec3u,
    ) { let i = id.x; ${body} }`;
  const result = protect(code, { redundancy: "none", memory: "detect1024", features, subgroupSize });
  return result.diagnostics.map(({ message }) => message);
}

describe("lanes check lines together", () => {
  it.each([
    ["in order", "b[i] = a[i];"],
    ["behind a bound", "if (i < n.x) { b[i] = a[min(i, n.y)]; }"],
    ["in rows", "b[group.x * 640u + index] = a[64u * n.x + local.x];"],
    ["in columns", "b[i / 128u * 4096u + i % 128u + 128u * id.y] = a[i + 8192u];"],
    ["in steps", "for (var k = 0u; k < n.x; k += 8u) { _ = a[i + k]; }"],
    ["once, the same for all", "b[i] = a[id.y];"],
  ])("that they access %s", (_, body) => expect(whys(body)).toEqual([]));

  it("of any words", () => {
    for (const type of ["u32", "vec2f", "vec4i"])
      expect(whys("b[i] = a[i];", { type, subgroupSize: 32 })).toEqual([]);
  });
});

describe("the host has what lanes", () => {
  it.each([
    ["reverse", "b[63u - i] = a[i];", "do not store"],
    ["shift", "b[i + 1u] = a[i];", "do not store"],
    ["stride", "b[2u * i] = a[i];", "do not store"],
    ["gather more than once", "b[i] = a[a[i].x] + a[a[i].y];", "do not load"],
    ["gather in a loop", "for (var k = 0u; k < n.x; k++) { _ = a[i * k]; }", "do not load"],
    ["store in a loop", "for (var k = 0u; k < n.x; k += 8u) { b[i + k] = a[i]; }", "store twice"],
    ["may store twice", "b[i + n.x * 8u] = a[i]; b[i + n.y * 8u] = a[i];", "store twice"],
    ["load and store", "b[i] = b[i] + a[i];", "also loaded"],
  ])("%s", (_, body, why) => {
    const found = whys(body);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(why);
  });

  it.each([
    ["cannot exchange", { features: [] }],
    ["are too few for", { subgroupSize: 4 }],
  ])("%s", (_, options) => {
    expect(whys("b[i] = a[i];", options).map((why) => why.includes("cannot exchange"))).toEqual([true, true]);
  });

  it("share with lanes of other rows", () => {
    expect(whys("b[i + 4u * id.y] = a[i];", { size: "4, 4" })).toHaveLength(1);
  });
});

import { describe, expect, it } from "vitest";
import { resolved } from "../../../../test/support/wgsl/resolved.ts";
import type { Expression } from "../wgsl/ast.ts";
import { walk } from "../wgsl/traverse.ts";
import { functionsOf } from "./callGraph.ts";
import { neighborPatterns } from "./neighbors.ts";

/**
 * Returns the pattern of `x` in a kernel, for eight neighbors: `"rank + 8k"`, `"4k"` or `"any"`.
 */
function pattern(body: string, { size = "16, 4", declarations = "", assumesAlignment = false } = {}): string {
  const program = resolved(`${declarations}
    @group(0) @binding(0) var<uniform> shape: vec4u;
    @group(0) @binding(1) var<storage, read> list: array<u32>;
    @group(0) @binding(2) var<storage, read_write> changed: array<u32>;
    @compute @workgroup_size(${size}) fn main(
      @builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_id) local: vec3u,
      @builtin(local_invocation_index) index: u32, @builtin(workgroup_id) group: vec3u,
      @builtin(num_workgroups) groups: vec3u,
    ) { ${body} }`);
  const kernel = functionsOf(program).find(({ name }) => name === "main")!;
  const patternOf = neighborPatterns(program, kernel, { count: 8, assumesAlignment });
  let value: Expression | undefined;
  walk(kernel.body, (node) => {
    if (node.kind === "let" && node.name === "x") value = node.initializer;
  });
  const found = patternOf(value!);
  return found ? `${found.ranks ? "rank + " : ""}${found.multiple === 1 ? "" : found.multiple}k` : "any";
}

describe("values of neighbors", () => {
  it.each([
    ["index", "rank + 8k"],
    ["local.x", "rank + 8k"],
    ["id.x", "rank + 16k"],
    ["id.y", "k"],
    ["group.z * 24u", "8k"],
    ["index + 32u * local.y", "rank + 8k"],
    ["(index + 8u) % 64u", "rank + 8k"],
    ["index / 64u", "k"],
    ["id.x / 128u * 4096u + id.x % 128u", "rank + 16k"],
    ["index % 4u", "any"],
    ["2u * index", "any"],
    ["index + local.x", "any"],
    ["63u - index", "any"],
    ["index - 8u", "rank + 8k"],
    ["id.y * shape.x + id.x", "rank + k"],
    ["id.y * shape.x * 8u + id.x", "rank + 8k"],
    ["min(id.x, arrayLength(&list) - 1u)", "rank + 16k"],
    ["list[id.y]", "k"],
    ["list[id.x]", "any"],
    ["changed[id.y]", "any"],
    ["(group.x << 3u) + (id.xy + vec2u(16u, 1u)).x", "rank + 8k"],
    ["vec2u(id.y, index).y", "rank + 8k"],
  ])("%s is %s", (expression, expected) => expect(pattern(`let x = ${expression};`)).toBe(expected));

  it("are followed through variables, loops and functions", () => {
    expect(pattern("for (var k = 8u; k < shape.x; k += 16u) { let x = k + id.x; }")).toBe("rank + 8k");
    expect(pattern("for (var k = 0u; k < shape.x; k++) { let x = k + id.x; }")).toBe("rank + k");
    expect(pattern("var v = id.x; v += 4u; if (v > 9u) { v = id.x; } let x = v;")).toBe("rank + 4k");
    expect(pattern("var v = id.x; v = 2u * id.x; let x = v;")).toBe("any");
    expect(pattern("var v = id.x; let p = &v; *p = list[id.x]; let x = v;")).toBe("any");
    const declarations =
      "fn twice(n: u32) -> u32 { return 2u * n; } fn same(n: u32) -> u32 { return n + 8u; }";
    expect(pattern("let x = twice(id.y);", { declarations })).toBe("2k");
    expect(pattern("let y = same(group.x); let x = same(index);", { declarations })).toBe("any");
  });

  it("are aligned in rows if that is assumed", () => {
    const assumesAlignment = true;
    expect(pattern("let x = id.y * shape.x + id.x;", { assumesAlignment })).toBe("rank + 16k");
    expect(pattern("let x = id.y * shape.x + id.x - shape.x;", { assumesAlignment })).toBe("rank + 16k");
    expect(pattern("let x = id.y * shape.x + id.x - 1u;", { assumesAlignment })).toBe("rank + k");
    expect(pattern("let x = id.y * arrayLength(&list) + id.y;", { assumesAlignment })).toBe("k");
  });

  it("have no pattern if a row of the workgroup is no multiple of their number", () => {
    expect(pattern("let x = local.x;", { size: "4, 8" })).toBe("any");
    expect(pattern("let x = id.y;", { size: "4, 8" })).toBe("any");
    expect(pattern("let x = index;", { size: "4, 8" })).toBe("rank + 8k");
    expect(pattern("let x = id.x;", { size: "width", declarations: "override width = 64;" })).toBe("any");
  });
});

import { expect, test } from "vitest";
import { resolved } from "../../../../test/support/wgsl/resolved.ts";
import { functionsOf } from "./callGraph.ts";
import { knownWorkgroupSize, workgroupSize } from "./workgroupSize.ts";

test.each([
  ["@workgroup_size(64)", [64, 1, 1]],
  ["@workgroup_size(8, edge * 2)", [8, 16, 1]],
  ["@workgroup_size(8, chosen, 2)", [8, undefined, 2]],
])("of a kernel with %s", (attribute, size) => {
  const program = resolved(`const edge = 8; override chosen = 4u; @compute ${attribute} fn main() {}`);
  const [kernel] = functionsOf(program);
  expect(workgroupSize(program, kernel!)).toEqual(size);
  expect(knownWorkgroupSize(program, kernel!)).toEqual(size.includes(undefined) ? undefined : size);
});

/** The binding points of reports and of other added buffers. */
import { expect, it } from "vitest";
import type { CompilerOptions } from "./contract.ts";
import { protect } from "./protect.ts";

/** Protects a kernel that changes a buffer of each of these bind groups in place. */
function pointsIn(groups: readonly number[], options: CompilerOptions, binding = 3) {
  const declarations = groups.map(
    (group) => `@group(${group}) @binding(${binding}) var<storage, read_write> b${group}: array<u32>;`,
  );
  const code = `${declarations.join("\n")}
    @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3u) {
      ${groups.map((group) => `b${group}[id.x] += b${group}[id.x + 1u];`).join(" ")}
    }`;
  const { layout, entryPoints } = protect(code, { redundancy: "inter", copies: true, ...options });
  const { group, binding: report } = layout!;
  return { report: [group, report], shadows: entryPoints[0]!.interGroup!.shadows.map(({ at }) => at) };
}

const inLastGroup = { reportInLastGroup: true };

it("are in a bind group after those of the module", () => {
  const at = { group: 2, binding: 1 };
  expect(pointsIn([1], {})).toEqual({ report: [2, 0], shadows: [at] });
});

it("has the report in the last bind group of the module on request, and other buffers after it", () => {
  const at = { group: 2, binding: 1 };
  expect(pointsIn([1], inLastGroup)).toEqual({ report: [1, 4], shadows: [at] });
});

it("are in the last bind group if the module uses all", () => {
  const shadows = [1, 2, 4, 5].map((binding) => ({ group: 3, binding }));
  const limits = { maxStorageBuffersPerShaderStage: 9 };
  expect(pointsIn([0, 1, 2, 3], { ...inLastGroup, limits })).toEqual({ report: [3, 0], shadows });
});

it("leaves out a last bind group without a binding for the report", () => {
  const at = { group: 1, binding: 1 };
  expect(pointsIn([0], inLastGroup, 999)).toEqual({ report: [1, 0], shadows: [at] });
});

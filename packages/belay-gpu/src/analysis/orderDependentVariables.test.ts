import { describe, expect, it } from "vitest";
import { resolved } from "../../../../test/support/wgsl/resolved.ts";
import { functionsOf, stageOf } from "./callGraph.ts";
import { orderDependentVariables } from "./orderDependentVariables.ts";

/** Returns the names of the workgroup variables that depend on the order of atomic operations. */
function dependent(body: string, functions = ""): string[] {
  const program = resolved(`
    @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> out: array<u32>;
    var<workgroup> tile: array<u32, 64>;
    var<workgroup> flag: u32;
    var<workgroup> bins: array<atomic<u32>, 64>;
    ${functions}
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) l: u32) { ${body} }`);
  const entryPoints = functionsOf(program).filter((fn) => stageOf(fn));
  return [...orderDependentVariables(program, entryPoints)].map((variable) => variable.name).sort();
}

describe("orderDependentVariables", () => {
  const free: string[] = [];
  it.each([
    ["counting", "atomicAdd(&bins[l], l); atomicSub(&bins[l / 2], 1);", free],
    [
      "counting, then reading",
      "atomicAdd(&bins[l], 1); workgroupBarrier(); out[l] = atomicLoad(&bins[l]);",
      free,
    ],
    ["counting while others read", "atomicAdd(&bins[l], 1); out[l] = atomicLoad(&bins[l]);", ["bins"]],
    [
      "counting after a barrier of the other address space",
      "atomicAdd(&bins[l], 1); storageBarrier(); out[l] = atomicLoad(&bins[l]);",
      ["bins"],
    ],
    ["a used result", "out[l] = atomicAdd(&bins[0], 1);", ["bins"]],
    ["a result that is discarded in an expression", "_ = atomicAdd(&bins[0], 1);", ["bins"]],
    ["two operations", "atomicAdd(&bins[l], 1); atomicMax(&bins[l], 1);", ["bins"]],
    [
      "two operations with a barrier between",
      "atomicAdd(&bins[l], 1); workgroupBarrier(); atomicMax(&bins[l], 1);",
      free,
    ],
    [
      "branches that do different things",
      "if (l == 0) { atomicAdd(&bins[0], 1); } else { atomicOr(&bins[0], 2); }",
      ["bins"],
    ],
    [
      "clauses that do different things",
      "switch l { case 0: { atomicAdd(&bins[0], 1); } default: { atomicOr(&bins[0], 2); } }",
      ["bins"],
    ],
    [
      "branches that do the same",
      "if (l == 0) { atomicAdd(&bins[0], 1); } else { atomicSub(&bins[0], 2); }",
      free,
    ],
    ["clearing", "atomicStore(&bins[l], 0); workgroupBarrier(); atomicAdd(&bins[l], 1);", free],
    ["clearing and setting", "atomicStore(&bins[l], 0); atomicStore(&bins[0], 1);", ["bins"]],
    ["a store of different values", "atomicStore(&bins[0], l);", ["bins"]],
    ["an exchange of different values", "atomicExchange(&bins[0], l);", ["bins"]],
    ["a compare and exchange", "atomicCompareExchangeWeak(&bins[0], 1, 2);", ["bins"]],
    [
      "iterations with one barrier each",
      "for (var i = 0; i < 4; i++) { atomicAdd(&bins[l], 1); workgroupBarrier(); out[l] = atomicLoad(&bins[l]); }",
      ["bins"],
    ],
    [
      "iterations with two barriers each",
      "for (var i = 0; i < 4; i++) { atomicAdd(&bins[l], 1); workgroupBarrier(); out[l] = atomicLoad(&bins[l]); workgroupBarrier(); }",
      free,
    ],
    ["plain loads and stores", "out[0] = atomicLoad(&bins[l]); tile[l] = tile[0];", free],
  ])("%s", (_, body, expected) => {
    expect(dependent(body)).toEqual(expected);
  });

  it("follows calls", () => {
    const functions = "fn count(i: u32) { atomicAdd(&bins[i], 1); }";
    expect(dependent("count(l); workgroupBarrier(); out[l] = atomicLoad(&bins[0]);", functions)).toEqual([]);
    expect(dependent("count(l); out[l] = atomicLoad(&bins[0]);", functions)).toEqual(["bins"]);
  });
});

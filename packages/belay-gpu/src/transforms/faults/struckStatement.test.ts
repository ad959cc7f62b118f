import { describe, expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { divergence } from "../../analysis/divergence.ts";
import { uniformity } from "../../analysis/uniformity.ts";
import { printDeclaration } from "../../wgsl/printer.ts";
import { Names } from "../shared/names.ts";
import { armedTrigger } from "./armedTrigger.ts";
import { FaultSites } from "./faultSites.ts";
import { FunctionSites } from "./functionSites.ts";
import { Strikes } from "./strikes.ts";
import { StruckLoads } from "./struckLoads.ts";
import { struckStatement } from "./struckStatement.ts";

/** Returns the statements in place of the last one of a function, and the sites in their order. */
function struck(body: string) {
  const program = typed(`
    @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> n: array<atomic<u32>, 4>;
    fn g() {}
    fn f(i: u32) { ${body} }`);
  const names = new Names(program);
  const sites = new FaultSites();
  const trigger = armedTrigger(names, { redundancy: "none", pairing: "adjacent", subgroups: false });
  const strikes = new Strikes(names, trigger);
  const [uniform, isDivergent] = [uniformity(program), divergence(program)];
  const shared = { program, names, sites, strikes, isDivergent, usesMatrices: () => false };
  const loads = new StruckLoads({ ...shared, uniform: uniform.expressions });
  const context = { ...shared, uniform, loads };
  const fn = program.module.declarations.at(-1)!;
  if (fn.kind !== "function") throw new Error("the last declaration is f");
  const statements = struckStatement(new FunctionSites(context, "f"), fn.body.statements.at(-1)!);
  const text = printDeclaration({ ...fn, body: { ...fn.body, statements: [...statements] } });
  const lines = text.split("\n").slice(1, -1);
  return { lines: lines.map((line) => line.trim()), sites: sites.all };
}

describe("a statement", () => {
  it.each([
    ["let x = i * 2u;", ["let x = belay_strike_u32(1u, i * 2u);"]],
    ["var x = 1u;", ["var x = 1u;"]],
    ["var x = i; x += 3u;", ["x = belay_strike_u32(1u, x + 3u);"]],
    ["var x = i; x--;", ["x = belay_strike_u32(1u, x - 1);"]],
    ["g();", ["g();"]],
    ["return;", ["return;"]],
  ])("%s is struck in the value that it computes", (body, lines) =>
    expect(struck(body).lines).toEqual(lines),
  );

  it("that stores is struck in its value and in its index, and names both", () => {
    const { lines, sites } = struck("a[i + 1u] = i * 2u;");
    expect(lines).toEqual([
      "let belay_index_1 = belay_strike_u32(2u, i + 1u);",
      "let belay_value_1 = belay_strike_u32(1u, i * 2u);",
      "a[belay_index_1] = belay_value_1;",
    ]);
    expect(sites.map(({ kind, functionName }) => [kind, functionName])).toEqual([
      ["value", "f"],
      ["address", "f"],
    ]);
  });

  it("that calls an atomic operation is struck in the index only", () => {
    const { lines, sites } = struck("atomicAdd(&n[i], 3u);");
    expect(lines).toEqual([
      "let belay_index_1 = belay_strike_u32(1u, i);",
      "atomicAdd(&n[belay_index_1], 3u);",
    ]);
    expect(sites.map(({ kind }) => kind)).toEqual(["address"]);
  });
});

import { describe, expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { divergence } from "../../analysis/divergence.ts";
import { uniformity } from "../../analysis/uniformity.ts";
import { printDeclaration, printExpression } from "../../wgsl/printer.ts";
import { Names } from "../shared/names.ts";
import { armedTrigger } from "./armedTrigger.ts";
import { FaultSites } from "./faultSites.ts";
import { Strikes } from "./strikes.ts";
import { StruckLoads } from "./struckLoads.ts";

const memory = `
  struct Part { at: vec2f, list: array<array<u32, 3>, 4> }
  @group(0) @binding(0) var<storage, read_write> a: array<f32>;
  @group(0) @binding(1) var<storage, read_write> parts: array<Part, 2>;
  @group(0) @binding(2) var<uniform> size: vec4u;
  var<workgroup> tile: array<i32, 8>;
  var<private> own: array<u32, 8>;`;

/** Returns an expression with its loads struck, the functions of the loads, and the sites. */
function struck(expression: string) {
  const program = typed(`${memory} fn f(i: u32) { let x = ${expression}; }`);
  const names = new Names(program);
  const sites = new FaultSites();
  const trigger = armedTrigger(names, { redundancy: "none", pairing: "adjacent", subgroups: false });
  const strikes = new Strikes(names, trigger);
  const uniform = uniformity(program).expressions;
  const loads = new StruckLoads({
    program,
    names,
    sites,
    strikes,
    isDivergent: divergence(program),
    uniform,
  });
  const fn = program.module.declarations.at(-1)!;
  const statement = fn.kind === "function" ? fn.body.statements[0]! : undefined;
  if (statement?.kind !== "let") throw new Error("the statement declares x");
  const result = printExpression(loads.struck(statement.initializer, "f"));
  const functions = loads.declarations.map((each) => printDeclaration(each).replaceAll(/\s+/g, " ").trim());
  return { result, functions, sites: sites.all.map(({ kind, components }) => `${kind} ${components}`) };
}

describe("a load", () => {
  it("becomes a call whose function strikes the index and then the word", () => {
    expect(struck("a[i + 1u] * 2f")).toEqual({
      result: "belay_load_1(i + 1u) * 2f",
      functions: [
        "fn belay_load_1(belay_index_1: u32) -> f32 { let belay_index_2 = belay_strike_u32(1u, belay_index_1); " +
          "return belay_strike_load_f32(2u, u32(belay_index_2) * 4u / 128u, a[belay_index_2]); }",
      ],
      sites: ["address 1", "load 1"],
    });
  });

  it("tells the line of a place in a struct, with the offsets of its members", () => {
    const { functions, sites } = struck("parts[1].list[i][2]");
    expect(functions.join()).toContain("(72u + u32(belay_index_2) * 12u) / 128u");
    expect(functions.join()).toContain("parts[1].list[belay_index_2][2]");
    expect(sites).toEqual(["address 1", "load 1"]);
  });

  it("of workgroup memory is struck in its index only", () => {
    const { functions, sites } = struck("tile[i]");
    expect(functions.join()).toContain("return tile[belay_index_2];");
    expect(sites).toEqual(["address 1"]);
  });

  it("inside an index is struck as well", () => {
    const { result, sites } = struck("a[size[i]]");
    expect(result).toMatch(/^belay_load_\d\(belay_load_\d\(i\)\)$/);
    expect(sites).toEqual(["address 1", "address 1", "load 1", "load 1"]);
  });

  it.each(["own[i]", "tile[3]", "i * 2u", "arrayLength(&a)"])("is not what %s is", (expression) =>
    expect(struck(expression)).toEqual({ result: expression, functions: [], sites: [] }),
  );
});

import { describe, expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { schemeOf } from "../../ecc/scheme.ts";
import type { Assignment, Expression } from "../../wgsl/ast.ts";
import { printDeclaration, printExpression } from "../../wgsl/printer.ts";
import { Names } from "../shared/names.ts";
import { AccessFunctions, type UniformGranules } from "./accessFunctions.ts";
import { GranuleFunctions } from "./granuleFunctions.ts";
import { type MadeFunctions, PlaceFunctions } from "./placeFunctions.ts";

/** Returns the functions of a kernel, with the expressions that `f` stores to `sink`. */
function accessesOf(...expressions: readonly string[]) {
  const program = typed(`
    struct Part { head: u32, list: array<u32> }
    @group(0) @binding(0) var<storage, read_write> a: array<vec2f>;
    @group(0) @binding(1) var<storage, read_write> part: Part;
    @group(0) @binding(2) var<uniform> size: array<vec4u, 40>;
    var<private> own: array<u32, 4>;
    fn f(i: u32) { ${expressions.map((each) => `_ = ${each};`).join(" ")} }`);
  const names = new Names(program);
  const arena = { group: 1, binding: 1 };
  const granules = new GranuleFunctions(names, { arena, table: { group: 1, binding: 2 }, rows: 3 });
  const checked = new Map(
    ["a", "part", "size"].map((name, index) => [name, { name, index, scheme: schemeOf("secded32") }]),
  );
  const kernel = { arena: "read_write", checked } as const;
  const made: MadeFunctions = new Map();
  const uniforms: UniformGranules = new Map();
  const places = new PlaceFunctions(program, names, granules, { kernel, made });
  const access = new AccessFunctions(names, granules, { kernel, uniforms, places });
  const fn = program.module.declarations.at(-1)!;
  if (fn.kind !== "function") throw new Error("the last declaration is f");
  const flat = (text: string) => text.replaceAll(/\s+/g, " ").trim();
  const textOf = (name: string) =>
    [...made.values()].flatMap((each) =>
      each.name === name ? each.declarations.map((declaration) => flat(printDeclaration(declaration))) : [],
    )[0];
  const values = (fn.body.statements as Assignment[]).map(({ value }) => value) as [
    Expression,
    ...Expression[],
  ];
  return { access, values, uniforms, textOf };
}

describe("a place in a protected buffer", () => {
  it("is loaded by a function that clamps its index and checks its granule", () => {
    const { access, values, textOf } = accessesOf("a[i + 1u]");
    const { name, indices } = access.load(values[0], "corrected");
    expect(indices.map(printExpression)).toEqual(["i + 1u"]);
    expect(textOf(name)).toBe(
      "fn belay_load_1(belay_index_1: u32) -> vec2<f32> { " +
        "let belay_at_1 = min(belay_index_1, belay_check_table[0].y / 8u - 1u); " +
        "let belay_granule_1 = belay_corrected_a_read_write(belay_at_1 * 2u); " +
        "let belay_granule_2 = belay_corrected_a_read_write(belay_at_1 * 2u + 1u); " +
        "return bitcast<vec2<f32>>(vec2<u32>(belay_granule_1, belay_granule_2)); }",
    );
  });

  it("is stored by a function that leaves memory alone where the index is out of bounds", () => {
    const { access, values, textOf } = accessesOf("part.list[i]");
    const { name, indices } = access.store(values[0]);
    expect(indices.map(printExpression)).toEqual(["i"]);
    expect(textOf(name)).toBe(
      "fn belay_store_1(belay_index_1: u32, belay_value: u32) { " +
        "if (belay_index_1 > (belay_check_table[1].y - 4u) / 4u - 1u) { return; } " +
        "belay_store_part_read_write(belay_index_1 + 1u, belay_value); }",
    );
  });

  it("shares its functions with places of the same shape", () => {
    const { access, values } = accessesOf("a[i]", "a[2u * i]", "part.list[i]");
    const [first, second, other] = values.map((each) => access.load(each, "peeked").name);
    expect(second).toBe(first);
    expect(other).not.toBe(first);
    expect(access.load(values[0], "repaired").name).not.toBe(first);
  });

  it("is none in other memory", () => {
    const { access, values } = accessesOf("own[i]", "a[i]");
    expect(values.map((each) => access.checked(each)?.name)).toEqual([undefined, "a"]);
  });
});

it("computes the length of an array from the bytes of its binding", () => {
  const { access, values, textOf } = accessesOf("part.list[i]");
  const [place] = values;
  if (place.kind !== "index") throw new Error("the value is an element");
  expect(textOf(access.length(place.base))).toBe(
    "fn belay_length_1() -> u32 { _ = &belay_granules_part; return (belay_check_table[1].y - 4u) / 4u; }",
  );
});

it("loads the first granules of a uniform buffer once, unless their place is unknown", () => {
  const { access, values, uniforms, textOf } = accessesOf("size[1].y", "size[i].y", "size[20].y");
  expect(values.map((each) => access.isKept(each))).toEqual([true, false, false]);
  const texts = values.map((each) => textOf(access.load(each, "corrected").name));
  expect(texts[0]).toContain("belay_granule_1 = belay_kept_size_5;");
  expect(texts[1]).toContain("belay_corrected_size_read_write(belay_at_1 * 4u + 1u)");
  expect(texts[2]).toContain("belay_corrected_size_read_write(81u)");
  const load = "belay_corrected_size_read_write(5u)";
  expect([...uniforms]).toEqual([["belay_kept_size_5", { load, isUsedAsIs: false }]]);
});

it("loads a uniform granule as it is for all uses after one that needs it so", () => {
  const { access, values, uniforms, textOf } = accessesOf("size[1].y");
  const load = "belay_uniform_size_read_write(5u)";
  expect(textOf(access.load(values[0], "uniform").name)).toContain(
    "belay_granule_1 = belay_granules_size[5u / 4u][5u % 4u];",
  );
  access.load(values[0], "corrected");
  expect([...uniforms]).toEqual([["belay_kept_size_5", { load, isUsedAsIs: true }]]);
});

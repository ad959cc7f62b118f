import { expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import type { Assignment, Expression } from "../../wgsl/ast.ts";
import { printDeclaration } from "../../wgsl/printer.ts";
import { Names } from "../shared/names.ts";
import { AccessSums } from "./accessSums.ts";
import { GeneratedDeclarations } from "./generatedDeclarations.ts";

/** Sums the target of each assignment to `b`, and its value if it is a load of `a`. */
function summed(body: string, isCounted: boolean) {
  const program = typed(`
    struct Part { head: u32, list: array<vec2f> }
    @group(0) @binding(0) var<storage, read> a: array<vec4u>;
    @group(0) @binding(1) var<storage, read_write> b: array<vec4u>;
    @group(0) @binding(2) var<storage, read_write> part: Part;
    fn f(i: u32, k: i32) { ${body} }`);
  const names = new Names(program);
  const library = new GeneratedDeclarations();
  const sums = new AccessSums(program, names, library);
  const fn = program.module.declarations.at(-1)!;
  if (fn.kind !== "function") throw new Error("the last declaration is f");
  const isLoad = ({ kind }: Expression) => kind === "index";
  for (const { target, value } of fn.body.statements as Assignment[]) {
    sums.see(target!, { kind: "store", number: 0, isCounted });
    if (isLoad(value)) sums.see(value, { kind: "load", number: 1, isCounted });
  }
  const flat = (text: string) => text.replaceAll(/\s+/g, " ").trim();
  const rewritten = printDeclaration(sums.function(fn)).split("\n").slice(1, -1).map(flat);
  const functions = library.declarations.map((each) => flat(printDeclaration(each)));
  return { rewritten, made: functions.filter((each) => /summed|sum_\d/.test(each)) };
}

it("turns loads and stores into calls of functions that add their words to a sum", () => {
  const { rewritten, made } = summed("b[k] = a[i];", true);
  expect(rewritten).toEqual(["belay_summed_store_1(u32(k), belay_summed_load_1(u32(i)));"]);
  expect(made).toEqual(
    expect.arrayContaining([
      "var<private> belay_sum_0_of_b: vec3<u32>;",
      "var<private> belay_sum_1_of_a: vec3<u32>;",
      "fn belay_summed_load_1(belay_index_1: u32) -> vec4<u32> { let belay_value = a[belay_index_1]; " +
        "belay_sum_1_of_a += belay_checksum_quad(belay_index_1, bitcast<vec4<u32>>(belay_value)); return belay_value; }",
      "fn belay_summed_store_1(belay_index_1: u32, belay_value: vec4<u32>) { b[belay_index_1] = belay_value; " +
        "belay_sum_0_of_b += belay_checksum_quad(belay_index_1, bitcast<vec4<u32>>(belay_value)); }",
    ]),
  );
});

it("counts no places where these are known", () => {
  const { made } = summed("b[i] = vec4u(1);", false);
  expect(made[0]).toBe("var<private> belay_sum_0_of_b: vec2<u32>;");
  expect(made.join()).toContain("bitcast<vec4<u32>>(belay_value)).xy;");
});

it("addresses a member in words, and shares a function among like accesses", () => {
  const { rewritten, made } = summed(
    "part.list[i] = vec2f(1); part.list[k] = vec2f(2); part.head = 3u;",
    true,
  );
  expect(rewritten).toEqual([
    "belay_summed_store_1(u32(i), vec2f(1));",
    "belay_summed_store_1(u32(k), vec2f(2));",
    "belay_summed_store_2(3u);",
  ]);
  const functions = made.filter((each) => each.startsWith("fn"));
  expect(functions).toHaveLength(2);
  // The list begins after 8 bytes, and an element has two words.
  expect(functions[0]).toContain(
    "belay_checksum_pair(belay_index_1 * 2u + 2u, bitcast<vec2<u32>>(belay_value))",
  );
  expect(functions[1]).toContain("belay_checksum_word(0u, bitcast<u32>(belay_value))");
});

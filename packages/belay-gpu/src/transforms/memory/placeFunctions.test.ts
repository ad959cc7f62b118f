import { expect, it } from "vitest";
import { checkedKernel, flat } from "../../../../../test/support/wgsl/checkedKernel.ts";
import { printExpression } from "../../wgsl/printer.ts";

/** Returns the address of the place that the kernel assigns. */
function addressed(body: string, type: string, outOfBounds: "clamped" | "dropped" = "clamped") {
  const { places, assignments } = checkedKernel(body, { type });
  return places.addressed(assignments[0]!.target!, outOfBounds);
}

it("addresses a place by the terms of its indices and by known bytes", () => {
  const place = addressed("a[i + 1][2].y = 1;", "array<vec4f, 4>");
  expect(place.address).toEqual({ terms: [{ index: "belay_at_1", stride: 64 }], at: 2 * 16 + 4 });
  expect(place.indices.map(printExpression)).toEqual(["i + 1"]);
});

it("clamps an index, or returns, at the end of an array that the host sizes", () => {
  const last = "check_table[1].y / 4u - 1u";
  const clamped = addressed("a[i] = 1;", "u32");
  expect(clamped.statements.map(flat)).toEqual([`let at_1 = min(index_1, ${last});`]);
  expect(clamped.strays.map(flat)).toEqual([`index_1 > ${last}`]);
  const dropped = addressed("a[i] = 1;", "u32", "dropped");
  expect(dropped.statements.map(flat)).toEqual([`if (index_1 > ${last}) { return; }`]);
  expect(dropped.address.terms).toEqual([{ index: "belay_index_1", stride: 4 }]);
});

it("knows the ends of arrays and vectors that have a size", () => {
  const place = addressed("a[i][k][k] = 1;", "array<vec3f, 5>");
  expect(place.strays.map(flat).slice(1)).toEqual(["index_2 > 4u", "index_3 > 2u"]);
});

it("declares functions of equal text once", () => {
  const { places, declared } = checkedKernel("");
  const bodies = ["return 1u;", "return 2u;", "return 1u;"];
  const names = bodies.map((body) => places.function("f", "() -> u32", [body]));
  expect(names[2]).toBe(names[0]);
  expect(names.slice(0, 2).map(declared)).toEqual([
    "fn f_1() -> u32 { return 1u; }",
    "fn f_2() -> u32 { return 2u; }",
  ]);
});

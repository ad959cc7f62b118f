import { describe, expect, it } from "vitest";
import { literal, outcome, vector } from "../../../../../test/support/wgsl/constantValues.ts";
import { resultStruct } from "../resolve/instantiate.ts";
import { abstractFloatType } from "../types.ts";
import type { Value } from "../values.ts";
import { foldIndex, foldMember } from "./index.ts";

const v = vector(literal("1f"), literal("2f"), literal("3f"));

describe("an index", () => {
  it("selects an element", () => {
    expect(outcome(foldIndex(v, 2))).toBe(3);
    expect(outcome(foldIndex(v, 0n))).toBe(1);
  });

  it.each([3, -1, 2n ** 62n])("out of bounds has no value: %s", (index) => {
    expect(outcome(foldIndex(v, index))).toBe(`index ${index} is out of bounds for 3 elements`);
  });
});

describe("a member", () => {
  it.each<[string, unknown]>([
    ["x", 1],
    ["b", 3],
    ["zx", [3, 1]],
    ["rrrr", [1, 1, 1, 1]],
    ["w", "no component w"],
    ["xa", "no component a"],
    ["q", "no component q"],
  ])("of a vector is a swizzle: %s", (name, result) => {
    expect(outcome(foldMember(v, name))).toEqual(result);
  });

  it("of a struct is found by its name", () => {
    const parts: Value = {
      type: resultStruct("__modf_result", abstractFloatType),
      elements: [literal("0.5"), literal("3.0")],
    };
    expect(outcome(foldMember(parts, "whole"))).toBe(3);
    expect(outcome(foldMember(parts, "exp"))).toBe("no member exp");
  });
});

import { describe, expect, it } from "vitest";
import { literal, outcome, scalar, vector } from "../../../../../test/support/wgsl/constantValues.ts";
import { vectorType } from "../conversion.ts";
import { resultStruct } from "../resolve/instantiate.ts";
import {
  abstractFloatType,
  abstractIntType,
  boolType,
  f16Type,
  f32Type,
  i32Type,
  type Type,
  u32Type,
} from "../types.ts";
import { convert, foldBuiltin, foldConstructor } from "./index.ts";

describe("automatic conversion", () => {
  it.each<[string, Type, unknown]>([
    ["1", i32Type, 1],
    ["4294967295", u32Type, 4294967295],
    ["16777217", f32Type, 16777216],
    ["9007199254740993", abstractFloatType, 9007199254740992],
    ["2049", f16Type, 2048],
    ["0.1", f32Type, Math.fround(0.1)],
    ["2147483648", i32Type, "value overflows i32"],
    ["65505", f16Type, "value overflows f16"],
    ["1e39", f32Type, "value overflows f32"],
    ["1.5", i32Type, "no automatic conversion to the expected type"],
    ["1", boolType, "no automatic conversion to the expected type"],
    ["1i", u32Type, "no automatic conversion to the expected type"],
  ])("of %s (%#)", (text, to, result) => {
    expect(outcome(convert(literal(text), to))).toBe(result);
  });

  it("rejects a number that exceeds the largest float, even if it would round to it", () => {
    expect(outcome(convert(scalar(abstractFloatType, 3.4028235e38), f32Type))).toBe("value overflows f32");
  });

  it("reaches into vectors, arrays and result structs", () => {
    const pair = vector(literal("1"), literal("2"));
    expect(convert(pair, vectorType(2, f32Type))).toEqual({
      ok: true,
      value: vector(literal("1f"), literal("2f")),
    });
    const list = foldConstructor({ kind: "array", element: abstractIntType, count: 2 }, [
      literal("1"),
      literal("1"),
    ]);
    expect(list.ok && outcome(convert(list.value, { kind: "array", element: u32Type, count: 2 }))).toEqual([
      1, 1,
    ]);
    const parts = foldBuiltin("frexp", [literal("3.0")], resultStruct("__frexp_result", abstractFloatType));
    expect(parts?.ok && convert(parts.value, resultStruct("__frexp_result", f32Type))).toMatchObject({
      value: { elements: [literal("0.75f"), literal("2i")] },
    });
  });
});

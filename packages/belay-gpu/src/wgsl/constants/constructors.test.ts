import { describe, expect, it } from "vitest";
import { literal, outcome, scalar, vector } from "../../../../../test/support/wgsl/constantValues.ts";
import { matrixType, vectorType } from "../conversion.ts";
import {
  abstractFloatType,
  boolType,
  f16Type,
  f32Type,
  i32Type,
  type StructType,
  type Type,
  u32Type,
} from "../types.ts";
import type { Value } from "../values.ts";
import { foldConstructor, zeroValue } from "./index.ts";

const construct = (type: Type, ...args: Value[]) => outcome(foldConstructor(type, args));
const pair: StructType = {
  kind: "struct",
  name: "Pair",
  members: [
    { name: "flag", type: boolType },
    { name: "place", type: vectorType(2, f32Type) },
  ],
};

describe("a scalar constructor", () => {
  it.each<[Type, string, unknown]>([
    [boolType, "0.0f", false],
    [boolType, "2", true],
    [f32Type, "true", 1],
    [i32Type, "4294967295u", -1],
    [i32Type, "3.9f", 3],
    [u32Type, "1e20f", 4294967040],
    [i32Type, "1e20f", 2147483520],
    [i32Type, "1e20", 2147483647],
    [u32Type, "60000h", 60000],
    [f16Type, "65520u", "value overflows f16"],
    [f16Type, "1e5f", "value overflows f16"],
    [u32Type, "4294967296", "value overflows u32"],
  ])("converts (%#)", (type, text, result) => {
    expect(construct(type, literal(text))).toBe(result);
  });

  it("clamps values out of range, and truncates towards zero", () => {
    expect(construct(i32Type, scalar(f32Type, -1e20))).toBe(-2147483648);
    expect(construct(u32Type, scalar(f32Type, -1))).toBe(0);
    expect(construct(i32Type, scalar(f32Type, -3.9))).toBe(-3);
    expect(construct(i32Type, scalar(f32Type, -0.5))).toBe(0);
    expect(construct(u32Type, scalar(i32Type, -1))).toBe(4294967295);
  });
});

describe("a composite constructor", () => {
  const one = vector(literal("1f"), literal("2f"));

  it("repeats a scalar, joins parts and converts a vector", () => {
    expect(construct(vectorType(3, u32Type), literal("7u"))).toEqual([7, 7, 7]);
    expect(construct(vectorType(4, f32Type), literal("0f"), one, literal("3f"))).toEqual([0, 1, 2, 3]);
    expect(construct(vectorType(2, i32Type), vector(literal("1.9f"), literal("2.9f")))).toEqual([1, 2]);
    expect(construct(vectorType(2, abstractFloatType), literal("1"), literal("2.5"))).toEqual([1, 2.5]);
  });

  it("takes a matrix by columns, by components or from a matrix", () => {
    const type = matrixType(2, 2, f32Type);
    const columns = foldConstructor(type, [one, one]);
    expect(outcome(columns)).toEqual([
      [1, 2],
      [1, 2],
    ]);
    expect(construct(type, ...["1f", "2f", "3f", "4f"].map(literal))).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(columns.ok && foldConstructor(matrixType(2, 2, f16Type), [columns.value])).toMatchObject({
      value: { elements: [{ type: vectorType(2, f16Type) }, { elements: [literal("1h"), literal("2h")] }] },
    });
  });

  it("takes an array by elements and a struct by members, converting abstract ones", () => {
    expect(
      foldConstructor({ kind: "array", element: u32Type, count: 2 }, [literal("1"), literal("2u")]),
    ).toMatchObject({
      value: { elements: [literal("1u"), literal("2u")] },
    });
    expect(foldConstructor(pair, [literal("true"), vector(literal("1"), literal("2"))])).toMatchObject({
      value: { elements: [literal("true"), one] },
    });
  });
});

describe("the zero value", () => {
  it("is zero in every part", () => {
    expect(outcome(zeroValue(pair))).toEqual([false, [0, 0]]);
    expect(construct(matrixType(2, 3, f32Type))).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
    expect(construct({ kind: "array", element: pair, count: 2 })).toEqual([
      [false, [0, 0]],
      [false, [0, 0]],
    ]);
  });

  it("is an error if it does not exist or is too large", () => {
    expect(outcome(zeroValue({ kind: "array", element: u32Type, count: "runtime" }))).toBe(
      "the array's element count is not a constant",
    );
    expect(outcome(zeroValue({ kind: "array", element: u32Type, count: 1e9 }))).toBe(
      "an array of 1000000000 elements is too large to evaluate",
    );
    expect(outcome(zeroValue({ kind: "atomic", element: u32Type }))).toBe("the type has no zero value");
  });

  it("of a deeply nested struct takes linear time", () => {
    let type = pair;
    for (let depth = 0; depth < 40; depth++) {
      type = {
        kind: "struct",
        name: "Nest",
        members: [
          { name: "a", type },
          { name: "b", type },
        ],
      };
    }
    expect(zeroValue(type).ok).toBe(true);
  });
});

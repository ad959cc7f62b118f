import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { literal, outcome, scalar, vector } from "../../../../../test/support/wgsl/constantValues.ts";
import type { BinaryOperator, UnaryOperator } from "../ast.ts";
import { matrixType, vectorType } from "../conversion.ts";
import { abstractIntType, boolType, f16Type, f32Type, i32Type, type ScalarType, u32Type } from "../types.ts";
import type { Value } from "../values.ts";
import { roundToHalf } from "./float16.ts";
import { foldBinary, foldUnary } from "./index.ts";

/**
 * Evaluates `left operator right` on literals, with the left operand's type or bool as the
 * result's.
 */
function binary(left: string, operator: string, right: string): unknown {
  const a = literal(left);
  const isComparison = /^(==|!=|<=?|>=?)$/.test(operator);
  return outcome(foldBinary(operator as BinaryOperator, a, literal(right), isComparison ? boolType : a.type));
}

function unary(operator: UnaryOperator, operand: Value): unknown {
  return outcome(foldUnary(operator, operand, operand.type));
}

const lowest = scalar(i32Type, -2147483648);

describe("integers", () => {
  it.each([
    ["2147483647i", "+", "1i", -2147483648],
    ["0u", "-", "1u", 4294967295],
    ["65536u", "*", "65537u", 65536],
    ["2147483647i", "*", "2147483647i", 1],
  ])("of a concrete type wrap: %s %s %s", (left, operator, right, result) => {
    expect(binary(left, operator, right)).toBe(result);
  });

  it.each([
    ["9223372036854775807", "+", "1"],
    ["4294967296", "*", "4294967296"],
    ["4611686018427387904", "<<", "1u"],
    ["1", "<<", "4294967295u"],
  ])("of the abstract type overflow: %s %s %s", (left, operator, right) => {
    expect(binary(left, operator, right)).toBe("value overflows abstract-int");
  });

  it("divide toward zero, and the remainder has the sign of the dividend", () => {
    const minusSeven = scalar(i32Type, -7);
    expect(outcome(foldBinary("/", minusSeven, literal("2i"), i32Type))).toBe(-3);
    expect(outcome(foldBinary("%", minusSeven, literal("2i"), i32Type))).toBe(-1);
    expect(binary("4294967295u", "/", "2u")).toBe(2147483647);
  });

  it.each(["/", "%"] as const)("have no value for %s by zero, nor for the lowest one by -1", (operator) => {
    expect(binary("1i", operator, "0i")).toBe("division by zero");
    expect(binary("1", operator, "0")).toBe("division by zero");
    expect(outcome(foldBinary(operator, lowest, scalar(i32Type, -1), i32Type))).toBe("value overflows i32");
  });

  it("negate and complement within their width", () => {
    expect(unary("-", lowest)).toBe(-2147483648);
    expect(unary("-", scalar(abstractIntType, -(2n ** 63n)))).toBe(-(2n ** 63n));
    expect(unary("~", literal("0u"))).toBe(4294967295);
    expect(unary("~", literal("0"))).toBe(-1n);
  });

  it.each([
    ["1u", "<<", "31u", 2147483648],
    ["0x80000000u", ">>", "31u", 1],
    ["3u", "<<", "31u", "value overflows u32"],
    ["1i", "<<", "31u", "value overflows i32"],
    ["1u", "<<", "32u", "shift amount is not less than 32"],
    ["1i", ">>", "32u", "shift amount is not less than 32"],
    ["0", "<<", "4294967295u", 0n],
    ["5", ">>", "4294967295u", 0n],
  ])("shift without losing significant bits: %s %s %s", (left, operator, right, result) => {
    expect(binary(left, operator, right)).toBe(result);
  });

  it("shift a negative number right with its sign", () => {
    expect(outcome(foldBinary(">>", lowest, literal("31u"), i32Type))).toBe(-1);
    expect(outcome(foldBinary("<<", scalar(i32Type, -1), literal("31u"), i32Type))).toBe(-2147483648);
    expect(outcome(foldBinary(">>", scalar(abstractIntType, -5n), literal("99u"), abstractIntType))).toBe(
      -1n,
    );
  });

  it("compute as the 32-bit operators of JavaScript do", () => {
    const reference: [BinaryOperator, (a: number, b: number) => number][] = [
      ["+", (a, b) => a + b],
      ["-", (a, b) => a - b],
      ["*", Math.imul],
      ["&", (a, b) => a & b],
      ["|", (a, b) => a | b],
      ["^", (a, b) => a ^ b],
    ];
    fc.assert(
      fc.property(fc.integer(), fc.integer(), fc.constantFrom(...reference), (a, b, [operator, compute]) => {
        const signed = foldBinary(operator, scalar(i32Type, a), scalar(i32Type, b), i32Type);
        expect(outcome(signed)).toBe(compute(a, b) | 0);
        const unsigned = foldBinary(operator, scalar(u32Type, a >>> 0), scalar(u32Type, b >>> 0), u32Type);
        expect(outcome(unsigned)).toBe(compute(a, b) >>> 0);
      }),
    );
  });
});

describe("floats", () => {
  it("round each operation to their type", () => {
    expect(binary("16777216f", "+", "1f")).toBe(16777216);
    expect(binary("1f", "/", "3f")).toBe(Math.fround(1 / 3));
    expect(binary("2048h", "+", "1h")).toBe(2048);
    expect(binary("0.1", "+", "0.2")).toBe(0.1 + 0.2);
    expect(binary("5.5f", "%", "2f")).toBe(1.5);
  });

  it.each([
    ["3e38f", "*", "10f", "result is not finite"],
    ["60000h", "+", "60000h", "result is not finite"],
    ["1e308", "*", "10.0", "result is not finite"],
    ["1f", "/", "0f", "division by zero"],
    ["0.0", "%", "0.0", "division by zero"],
  ])("have no value when the result is not finite: %s %s %s", (left, operator, right, reason) => {
    expect(binary(left, operator, right)).toBe(reason);
  });

  it("are rounded correctly", () => {
    const rounding: readonly [ScalarType, (x: number) => number][] = [
      [f32Type, Math.fround],
      [f16Type, roundToHalf],
    ];
    const operand = fc.float({ min: -200, max: 200, noNaN: true });
    fc.assert(
      fc.property(fc.constantFrom(...rounding), operand, operand, ([type, round], x, y) => {
        const [a, b] = [round(x), round(y)];
        const sum = outcome(foldBinary("+", scalar(type, a), scalar(type, b), type));
        const product = outcome(foldBinary("*", scalar(type, a), scalar(type, b), type));
        expect([sum, product]).toEqual([round(a + b), round(a * b)]);
      }),
    );
  });
});

describe("comparisons and logic", () => {
  it.each([
    ["1", "<", "2", true],
    ["4294967295u", ">", "1u", true],
    ["0.5h", ">=", "0.5h", true],
    ["1f", "!=", "1f", false],
    ["true", "==", "false", false],
    ["true", "&", "false", false],
    ["true", "|", "false", true],
    ["true", "&&", "true", true],
    ["false", "||", "false", false],
  ])("%s %s %s", (left, operator, right, result) => {
    expect(binary(left, operator, right)).toBe(result);
  });

  it("treat negative zero as zero", () => {
    expect(outcome(foldBinary("==", scalar(f32Type, -0), literal("0f"), boolType))).toBe(true);
  });

  it("negate a boolean", () => {
    expect(unary("!", literal("true"))).toBe(false);
  });
});

describe("vectors and matrices", () => {
  const u = vector(literal("1f"), literal("2f"));
  const v = vector(literal("10f"), literal("20f"), literal("30f"));
  const m: Value = {
    type: matrixType(3, 2, f32Type),
    elements: [
      vector(literal("1f"), literal("2f")),
      vector(literal("3f"), literal("4f")),
      vector(literal("5f"), literal("6f")),
    ],
  };
  const square: Value = {
    type: matrixType(2, 2, f32Type),
    elements: [u, vector(literal("0f"), literal("1f"))],
  };

  it("are computed by component, with a scalar used for each", () => {
    expect(outcome(foldBinary("+", u, u, u.type))).toEqual([2, 4]);
    expect(outcome(foldBinary("-", literal("10f"), u, u.type))).toEqual([9, 8]);
    expect(outcome(foldBinary("/", u, literal("2f"), u.type))).toEqual([0.5, 1]);
    expect(
      outcome(foldBinary("<", u, vector(literal("2f"), literal("2f")), vectorType(2, boolType))),
    ).toEqual([true, false]);
    expect(outcome(foldUnary("-", u, u.type))).toEqual([-1, -2]);
  });

  it("multiply as in linear algebra", () => {
    expect(outcome(foldBinary("*", m, v, u.type))).toEqual([220, 280]);
    expect(outcome(foldBinary("*", u, m, v.type))).toEqual([5, 11, 17]);
    expect(outcome(foldBinary("*", square, m, m.type))).toEqual([
      [1, 4],
      [3, 10],
      [5, 16],
    ]);
    expect(outcome(foldBinary("*", literal("2f"), square, square.type))).toEqual([
      [2, 4],
      [0, 2],
    ]);
  });

  it("have no value when one component has none", () => {
    expect(outcome(foldBinary("/", u, vector(literal("1f"), literal("0f")), u.type))).toBe(
      "division by zero",
    );
  });
});

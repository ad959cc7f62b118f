/**
 * Intervals of the 32-bit integers that expressions give, computed from the numbers known when a
 * loop starts.
 */
import type { LoopExpression, NumberType } from "../tree/ir.ts";

/** The integers from `low` to `high`, both included. */
export interface IntegerRange {
  readonly low: number;
  readonly high: number;
}

type Binary = Extract<LoopExpression, { kind: "binary" }>;

export const rangeOf = (low: number, high: number): IntegerRange => ({ low, high });
const point = (value: number) => rangeOf(value, value);

/** Returns the range of all values of an integer type; null for other types. */
export function allOf(type: LoopExpression["type"]): IntegerRange | null {
  if (type === "i32") return rangeOf(-(2 ** 31), 2 ** 31 - 1);
  return type === "u32" ? rangeOf(0, 2 ** 32 - 1) : null;
}

/**
 * Returns the range as values of a type. A range that exceeds the type wraps and becomes all its
 * values.
 */
export function asType(type: LoopExpression["type"], range: IntegerRange | null): IntegerRange | null {
  const all = allOf(type);
  return range && all && range.low >= all.low && range.high <= all.high ? range : all;
}

export function hull(one: IntegerRange | null, other: IntegerRange | null): IntegerRange | null {
  return one && other && rangeOf(Math.min(one.low, other.low), Math.max(one.high, other.high));
}

/** Returns the range of a minimum, a maximum, or a sum, difference or product before it wraps. */
export function combined(
  name: "+" | "-" | "*" | "min" | "max",
  one: IntegerRange,
  other: IntegerRange,
): IntegerRange {
  const apply = { "+": add, "-": subtract, "*": multiply, min: Math.min, max: Math.max }[name];
  const ends = [one.low, one.high].flatMap((a) => [other.low, other.high].map((b) => apply(a, b)));
  return rangeOf(Math.min(...ends), Math.max(...ends));
}

const add = (a: number, b: number) => a + b;
const subtract = (a: number, b: number) => a - b;
const multiply = (a: number, b: number) => a * b;

/**
 * Returns the range of an operation on integers before it wraps; null if the operation is not
 * analyzed.
 */
export function rangeOfBinary(
  { operator, type }: Binary,
  left: IntegerRange,
  right: IntegerRange,
): IntegerRange | null {
  const arePositive = left.low >= 0 && right.low >= 0;
  switch (operator) {
    case "+":
    case "-":
      return combined(operator, left, right);
    case "*": {
      const product = combined("*", left, right);
      // Larger products are not exact in a double.
      return Math.max(-product.low, product.high) <= Number.MAX_SAFE_INTEGER ? product : null;
    }
    case "/":
      return left.low >= 0 && right.low > 0
        ? rangeOf(Math.floor(left.low / right.high), Math.floor(left.high / right.low))
        : null;
    case "%":
      return left.low >= 0 && right.low > 0 ? rangeOf(0, Math.min(left.high, right.high - 1)) : null;
    case "&": {
      if (left.low < 0 && right.low < 0) return null;
      const highs = [left, right].flatMap(({ low, high }) => (low >= 0 ? [high] : []));
      const high = Math.min(...highs);
      // From 2^31 on, an i32 would be negative.
      return type === "i32" && high >= 2 ** 31 ? null : rangeOf(0, high);
    }
    case "|":
    case "^":
      return arePositive
        ? rangeOf(0, 2 ** Math.ceil(Math.log2(Math.max(left.high, right.high) + 1)) - 1)
        : null;
    case "<<":
      return right.low === right.high && right.low >= 0 && right.low < 32
        ? combined("*", left, point(2 ** right.low))
        : null;
    case ">>":
    case ">>>":
      return left.low >= 0 && left.high < 2 ** 31 && right.low >= 0 && right.high < 32
        ? rangeOf(Math.floor(left.low / 2 ** right.high), Math.floor(left.high / 2 ** right.low))
        : null;
    default:
      return null;
  }
}

/** Returns the range of an array's elements; null for `f32`. */
export function rangeOfElements(element: string): IntegerRange | null {
  switch (element) {
    case "i8":
      return rangeOf(-128, 127);
    case "u8":
    case "u8c":
      return rangeOf(0, 255);
    case "i16":
      return rangeOf(-32768, 32767);
    case "u16":
      return rangeOf(0, 65535);
    default:
      return allOf(element as NumberType);
  }
}

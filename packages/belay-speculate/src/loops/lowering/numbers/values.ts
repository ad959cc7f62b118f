import type { FloatType, LoopExpression, NumberType, ValueType } from "../../tree/ir.ts";
import {
  add,
  constant,
  difference,
  hostValue,
  isUnknown,
  known,
  type Linear,
  maximum,
  minimum,
  multiply,
  scale,
  unknown,
  zero,
} from "./linear.ts";

/** The integers from `low` to `high`, both included. An unknown end is open. */
export interface Interval {
  readonly low: Linear;
  readonly high: Linear;
}

/**
 * The nature of a number before the host computes it. A `float` is rounded to an f32 by the
 * program, or written as a fraction.
 */
export type Nature = "integer" | "float" | "any";

/**
 * A value that is the same in all iterations. The host computes it as the program would: its
 * JavaScript, and the facts about it.
 */
export interface HostValue {
  readonly kind: "host";
  readonly type: "number" | "boolean";
  /** A primary expression, so that it can stand anywhere. */
  readonly code: string;
  readonly constant: number | boolean | undefined;
  readonly linear: Linear;
  readonly nature: Nature;
  /** The range, if the value is surely an integer. */
  readonly range: Interval | undefined;
}

/**
 * An integer. Its exact value is `slope * index` plus a value in the interval, and `ir` has that
 * value modulo 2^32. A use of the exact value asks for a type that holds it (`exact`).
 */
export interface IntegerValue extends Interval {
  readonly kind: "integer";
  readonly ir: LoopExpression;
  readonly slope: Linear;
  /**
   * Evaluates an integer that may be −0 in JavaScript, in place of `ir`, with statements before it.
   */
  readonly minusZero?: (() => Signed) | undefined;
}

/** An evaluated integer: its bits, and whether it is −0. */
export interface Signed {
  readonly ir: LoopExpression;
  readonly isMinusZero: LoopExpression;
}

/**
 * The relation of an f32 to the program's double. `exact`: they are equal. `rounded`: the f32 is
 * the double rounded once. `other`: the f32 was computed from numbers that were not exact.
 */
export type Accuracy = "exact" | "rounded" | "other";

const accuracies: readonly Accuracy[] = ["exact", "rounded", "other"];

/** Returns the less accurate of two. */
export const worse = (one: Accuracy, other: Accuracy): Accuracy =>
  accuracies.indexOf(one) >= accuracies.indexOf(other) ? one : other;

export interface FloatValue {
  readonly kind: "float";
  readonly ir: LoopExpression;
  readonly accuracy: Accuracy;
}

export interface BooleanValue {
  readonly kind: "boolean";
  readonly ir: LoopExpression;
}

/** A character of a string, which exists. `ir` is its code unit. */
export interface CharacterValue {
  readonly kind: "character";
  readonly ir: LoopExpression;
}

/**
 * A number that is no integer, or that doubles do not hold exactly, while its low 32 bits are
 * known. It is a quotient, a remainder by a divisor that may be zero, or a large product. It must
 * be coerced.
 */
export interface PendingValue {
  readonly kind: "pending";
  readonly what: "quotient" | "remainder" | "product";
  readonly ir: LoopExpression;
  /** The range of the result of `| 0` or, for unsigned operands, `>>> 0`. */
  readonly coerced: Interval;
  readonly operands: readonly [IntegerValue, IntegerValue];
}

export type LoweredValue =
  | HostValue
  | IntegerValue
  | FloatValue
  | BooleanValue
  | CharacterValue
  | PendingValue;

export const int32: Interval = { low: constant(-(2 ** 31)), high: constant(2 ** 31 - 1) };
export const uint32: Interval = { low: zero, high: constant(2 ** 32 - 1) };
export const open: Interval = { low: unknown, high: unknown };
export const between = (low: number, high: number): Interval => ({
  low: constant(low),
  high: constant(high),
});

export const integer = (
  ir: LoopExpression,
  { low, high }: Interval,
  slope = zero,
  minusZero?: IntegerValue["minusZero"],
): IntegerValue => ({ kind: "integer", ir, slope, low, high, minusZero });

export function hostConstant(value: number | boolean): HostValue {
  const isNumber = typeof value === "number";
  return {
    kind: "host",
    type: isNumber ? "number" : "boolean",
    code: isNumber && (value < 0 || Object.is(value, -0)) ? `(${literalCode(value)})` : literalCode(value),
    constant: value,
    linear: isNumber ? constant(value) : unknown,
    nature: Number.isInteger(value) ? "integer" : "float",
    range: Number.isSafeInteger(value) ? between(value as number, value as number) : undefined,
  };
}

/** Returns a constant as JavaScript. */
export const literalCode = (value: number | boolean) => (Object.is(value, -0) ? "-0" : String(value));

export function hostNumber(
  code: string,
  nature: Nature,
  {
    linear = hostValue(code),
    range,
  }: { readonly linear?: Linear; readonly range?: Interval | undefined } = {},
): HostValue {
  return { kind: "host", type: "number", code, constant: undefined, linear, nature, range };
}

export const hostBoolean = (code: string): HostValue => ({
  kind: "host",
  type: "boolean",
  code,
  constant: undefined,
  linear: unknown,
  nature: "any",
  range: undefined,
});

/** Returns the smallest interval that holds both. */
export const hull = (one: Interval, other: Interval): Interval => ({
  low: minimum(one.low, other.low),
  high: maximum(one.high, other.high),
});

export const sum = (one: Interval, other: Interval): Interval => ({
  low: add(one.low, other.low),
  high: add(one.high, other.high),
});

export const negated = ({ low, high }: Interval): Interval => ({
  low: scale(high, -1),
  high: scale(low, -1),
});

export function product(one: Interval, other: Interval): Interval {
  const ends = [one.low, one.high].flatMap((a) => [other.low, other.high].map((b) => multiply(a, b)));
  const distinct = ends.filter((end, at) => !ends.slice(0, at).some((other) => difference(end, other) === 0));
  return { low: distinct.reduce(minimum), high: distinct.reduce(maximum) };
}

/** Returns the interval as numbers if it does not depend on the host. Open ends are infinite. */
export function numbers({ low, high }: Interval): readonly [number, number] | undefined {
  const [first, last] = [known(low), known(high)];
  if (first === undefined || last === undefined) return undefined;
  return [
    Number.isNaN(first) ? Number.NEGATIVE_INFINITY : first,
    Number.isNaN(last) ? Number.POSITIVE_INFINITY : last,
  ];
}

export const isPoint = ({ low, high }: Interval) => !isUnknown(low) && difference(low, high) === 0;

export const literal = (type: NumberType, value: number): LoopExpression => {
  if (!Number.isFinite(value)) {
    return { kind: "literal", type, value: String(value) as "NaN" | "Infinity" | "-Infinity" };
  }
  // JSON has no minus zero.
  if (Object.is(value, -0)) {
    return { kind: "unary", type, operator: "-", operand: { kind: "literal", type, value: 0 } };
  }
  return { kind: "literal", type, value };
};

/** Returns the same number in another type for kernels. JavaScript does not convert it. */
export function as(type: ValueType, ir: LoopExpression): LoopExpression {
  return ir.type === type ? ir : { kind: "convert", type, operand: ir, implicit: true };
}

export const boolean = (value: boolean): LoopExpression => ({
  kind: "literal",
  type: "bool",
  value: value ? 1 : 0,
});

export const isFloatType = (type: ValueType): type is FloatType => type === "f32" || type === "f64";

export const isBooleanValue = (value: LoweredValue) =>
  value.kind === "boolean" || (value.kind === "host" && value.type === "boolean");

/** Returns true for an integer that an i32 or a u32 holds. */
export const isWord = (value: number) => Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 32;

/** Returns true for a constant that no integer type holds. Loops compute with it as a float. */
export const isFloatConstant = (value: LoweredValue) =>
  value.kind === "host" && typeof value.constant === "number" && !isWord(value.constant);

import type { Node } from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import type { BinaryOperator, Expression } from "../ir.ts";
import { bitwise } from "./bitwise.ts";
import {
  as,
  asInteger,
  commonType,
  computed,
  exact,
  fitsFloat,
  rangeOfInteger,
  refusePending,
  refuseWide,
  safe,
  toBits,
  toBoolean,
  toFloat,
} from "./conversions.ts";
import { hostBinary, hostUnary, isBitwise, isRelational } from "./hostValues.ts";
import { known, multiply, scale, subtract, zero } from "./linear.ts";
import type { Lowering } from "./lowering.ts";
import { refuse } from "./refusal.ts";
import {
  type BooleanValue,
  between,
  boolean,
  type FloatValue,
  type HostValue,
  hull,
  type IntegerValue,
  type Interval,
  int32,
  integer,
  isPoint,
  literal,
  negated,
  numbers,
  type PendingValue,
  product,
  sum,
  uint32,
  type Value,
} from "./values.ts";

/** The result of a binary operator of JavaScript. */
export function binary(lowering: Lowering, operator: string, left: Value, right: Value, node: Node): Value {
  if (left.kind === "host" && right.kind === "host") {
    const result = hostBinary(operator, left, right);
    if (result) return result;
  }
  if (isRelational(operator)) return compare(lowering, operator, left, right, node);
  if (left.kind === "boolean" || right.kind === "boolean" || isHostBoolean(left) || isHostBoolean(right)) {
    if (!isBitwise(operator)) {
      return refuse(
        loopError.unsupported("arithmetic with a boolean", node, "choose a number: `condition ? 1 : 0`"),
      );
    }
  }
  if (isBitwise(operator)) return bitwise(lowering, operator, left, right, node);
  if (operator === "**") return floating("pow", lowering, left, right, node);
  if (left.kind === "float" || right.kind === "float" || isFraction(left) || isFraction(right)) {
    return floating(operator as "+", lowering, left, right, node);
  }
  if (left.kind === "pending" || right.kind === "pending") {
    const pending = left.kind === "pending" ? left : (right as PendingValue);
    return pending.what === "product" || operator === "%"
      ? refusePending(node)
      : floating(operator as "+", lowering, left, right, node);
  }
  const [a, b] = [asInteger(lowering, left, node)!, asInteger(lowering, right, node)!];
  switch (operator) {
    case "+":
      return computed(lowering, plus(a, b), node);
    case "-":
      return computed(lowering, plus(a, negative(b), "-"), node);
    case "*":
      return times(lowering, a, b);
    default:
      return divide(lowering, operator as "/" | "%", a, b, node);
  }
}

const isHostBoolean = (value: Value) => value.kind === "host" && value.type === "boolean";
const isFraction = (value: Value) =>
  value.kind === "host" && typeof value.constant === "number" && !Number.isSafeInteger(value.constant);

function floating(
  operator: "+" | "-" | "*" | "/" | "%" | "pow",
  lowering: Lowering,
  left: Value,
  right: Value,
  node: Node,
): FloatValue {
  const [a, b] = [toFloat(lowering, left, node), toFloat(lowering, right, node)];
  return {
    kind: "float",
    ir:
      operator === "pow"
        ? { kind: "call", type: "f32", callee: "pow", args: [a, b] }
        : { kind: "binary", type: "f32", operator, left: a, right: b },
  };
}

/** Integer operands of one operation have one type; the bits are the same. */
function operation(operator: BinaryOperator, left: Expression, right: Expression): Expression {
  const type = left.type === "u32" && right.type === "u32" ? "u32" : "i32";
  return { kind: "binary", type, operator, left: as(type, left), right: as(type, right) };
}

function plus(a: IntegerValue, b: IntegerValue, operator: "+" | "-" = "+"): IntegerValue {
  // For a difference, `b` is what is added, and its expression is what is taken away.
  const slope = sum({ low: a.slope, high: a.slope }, { low: b.slope, high: b.slope }).low;
  return integer(operation(operator, a.ir, b.ir), sum(a, b), slope);
}

const negative = (value: IntegerValue): IntegerValue =>
  integer(value.ir, negated(value), scale(value.slope, -1));

function times(lowering: Lowering, a: IntegerValue, b: IntegerValue): IntegerValue | PendingValue {
  const ir = operation("*", a.ir, b.ir);
  const factor = [a, b].find((value) => known(value.slope) === 0 && isPoint(value));
  const other = factor === a ? b : a;
  const result = factor
    ? integer(ir, product(other, factor), multiply(other.slope, factor.low))
    : integer(ir, product(rangeOfInteger(lowering, a), rangeOfInteger(lowering, b)));
  if (!lowering.guards.requireWithin(rangeOfInteger(lowering, result), safe)) {
    return { kind: "pending", what: "product", ir, coerced: int32, operands: [a, b] };
  }
  return { ...result, ir: { ...ir, small: true } as Expression };
}

/** Quotients and remainders are of exact operands. A remainder by what is surely not zero is an integer. */
function divide(
  lowering: Lowering,
  operator: "/" | "%",
  a: IntegerValue,
  b: IntegerValue,
  node: Node,
): IntegerValue | PendingValue {
  const ranges = [rangeOfInteger(lowering, a), rangeOfInteger(lowering, b)] as const;
  const type = typeForBoth(lowering, ...ranges, node);
  const [left, right] = [exact(lowering, a, node, type), exact(lowering, b, node, type)];
  const ir: Expression = { kind: "binary", type, operator, left, right };
  const coerced =
    operator === "%" ? rangeOfRemainder(ranges[0], ranges[1]) : rangeOfQuotient(ranges[0], ranges[1], type);
  if (operator === "%" && isNeverZero(lowering, ranges[1])) return integer(ir, coerced);
  return {
    kind: "pending",
    what: operator === "%" ? "remainder" : "quotient",
    ir,
    coerced,
    operands: [a, b],
  };
}

/** An integer type that holds both operands exactly. */
function typeForBoth(lowering: Lowering, one: Interval, other: Interval, node: Node): "i32" | "u32" {
  const type = commonType(lowering, [one, other]);
  if (type) return type;
  if (!commonType(lowering, [one]) || !commonType(lowering, [other])) return refuseWide(node);
  return refuse(
    loopError.inexactInteger(
      "no type of 32 bits holds both the signed and the unsigned integer",
      node,
      "coerce one of them, as in `(a >>> 0) < b`",
    ),
  );
}

/** Whether a divisor is never zero; a divisor that only the host knows is taken to be positive, which it checks. */
export function isNeverZero(lowering: Lowering, divisor: Interval): boolean {
  const range = numbers(divisor);
  if (range) return range[0] > 0 || range[1] < 0;
  return isPoint(divisor) && lowering.guards.requireNotPositive(subtract(between(1, 1).low, divisor.low));
}

function rangeOfRemainder(dividend: Interval, divisor: Interval): Interval {
  const [from, to] = numbers(dividend) ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  const sizes = numbers(divisor);
  if (!sizes) {
    const below = sum(divisor, between(-1, -1));
    return { low: from >= 0 ? between(0, 0).low : negated(below).low, high: below.high };
  }
  const largest = Math.max(Math.abs(sizes[0]), Math.abs(sizes[1])) - 1;
  return between(from >= 0 ? 0 : -Math.min(largest, -from), to <= 0 ? 0 : Math.min(largest, to));
}

/** A quotient is no larger than its dividend. */
function rangeOfQuotient(dividend: Interval, divisor: Interval, type: "i32" | "u32"): Interval {
  const [range, sizes] = [numbers(dividend), numbers(divisor)];
  const isPositive = (known(dividend.low) ?? -1) >= 0 && (known(divisor.low) ?? -1) >= 0;
  if (!range) return isPositive ? { low: zero, high: dividend.high } : type === "u32" ? uint32 : int32;
  if (isPositive && sizes) return between(0, Math.floor(range[1] / Math.max(1, sizes[0])));
  const largest = Math.max(Math.abs(range[0]), Math.abs(range[1]));
  return between(-Math.min(largest, 2 ** 31), Math.min(largest, 2 ** 31 - 1));
}

const operators: Readonly<Record<string, BinaryOperator>> = { "===": "==", "!==": "!=" };

function compare(lowering: Lowering, operator: string, left: Value, right: Value, node: Node): BooleanValue {
  const name = operators[operator] ?? (operator as BinaryOperator);
  const result = (a: Expression, b: Expression): BooleanValue => ({
    kind: "boolean",
    ir: { kind: "binary", type: "bool", operator: name, left: a, right: b },
  });
  const isBoolean = (value: Value) => value.kind === "boolean" || isHostBoolean(value);
  if (isBoolean(left) || isBoolean(right)) {
    if (!isBoolean(left) || !isBoolean(right) || !["==", "!="].includes(name)) {
      refuse(loopError.unsupported("this comparison of a boolean", node));
    }
    return result(toBoolean(lowering, left, node), toBoolean(lowering, right, node));
  }
  if (left.kind === "pending" || right.kind === "pending") refusePending(node);
  if (left.kind === "float" || right.kind === "float")
    return compareFloats(lowering, name, left, right, node);
  const [a, b] = [
    wholeBound(lowering, name, left, "left", node),
    wholeBound(lowering, name, right, "right", node),
  ];
  if (typeof a === "boolean" || typeof b === "boolean") {
    return { kind: "boolean", ir: boolean(a === true || b === true) };
  }
  const type = typeForBoth(lowering, rangeOfInteger(lowering, a), rangeOfInteger(lowering, b), node);
  return result(exact(lowering, a, node, type), exact(lowering, b, node, type));
}

/** A constant that is compared with an integer: rounded so that the comparison stays the same. */
function wholeBound(
  lowering: Lowering,
  operator: BinaryOperator,
  value: Value,
  side: "left" | "right",
  node: Node,
): IntegerValue | boolean {
  if (value.kind !== "host" || typeof value.constant !== "number" || Number.isSafeInteger(value.constant)) {
    return asInteger(lowering, value, node)!;
  }
  if (operator === "==" || operator === "!=") return operator === "!=";
  const { constant } = value;
  if (Number.isNaN(constant)) return false;
  const isUpper = operator.startsWith("<") === (side === "right");
  if (Math.abs(constant) >= 2 ** 53) return isUpper === constant > 0;
  const up = operator === (side === "right" ? "<" : ">") || operator === (side === "right" ? ">=" : "<=");
  const whole = up ? Math.ceil(constant) : Math.floor(constant);
  return asInteger(lowering, { ...value, constant: whole }, node)!;
}

/** Integers are compared with floats where an f32 holds them; constants are rounded so that the comparison stays the same. */
function compareFloats(
  lowering: Lowering,
  operator: BinaryOperator,
  left: Value,
  right: Value,
  node: Node,
): BooleanValue {
  const [a, b] = [left, right].map((value, side): Expression => {
    if (value.kind === "integer" && !fitsFloat(lowering, value)) {
      return refuse(
        loopError.inexactInteger(
          "this compares an integer that an f32 may not hold",
          node,
          "compare with `Math.fround(value)` if that is precise enough",
        ),
      );
    }
    if (value.kind === "host" && typeof value.constant === "number") {
      return constantBound(operator, value, side === 1);
    }
    return toFloat(lowering, value, node);
  });
  return { kind: "boolean", ir: { kind: "binary", type: "bool", operator, left: a!, right: b! } };
}

function constantBound(operator: BinaryOperator, { constant }: HostValue, isRight: boolean): Expression {
  const value = constant as number;
  const rounded = Math.fround(value);
  if (rounded === value || Number.isNaN(value)) return literal("f32", rounded);
  // No f32 equals the constant, and none compares with NaN.
  if (operator === "==" || operator === "!=") return literal("f32", Number.NaN);
  const up = operator === (isRight ? "<" : ">") || operator === (isRight ? ">=" : "<=");
  return literal("f32", neighbour(rounded, value, up));
}

/** The f32 next to a number, above or below it. */
function neighbour(rounded: number, value: number, up: boolean): number {
  if (rounded > value === up) return rounded;
  const bits = new Int32Array(Float32Array.of(rounded).buffer);
  if (rounded === 0) return up ? 2 ** -149 : -(2 ** -149);
  bits[0]! += rounded > 0 === up ? 1 : -1;
  return new Float32Array(bits.buffer)[0]!;
}

/** The result of a unary operator of JavaScript. */
export function unary(
  lowering: Lowering,
  operator: "-" | "+" | "~" | "!",
  operand: Value,
  node: Node,
): Value {
  if (operand.kind === "host") {
    const result = hostUnary(operator, operand);
    if (result) return result;
  }
  switch (operator) {
    case "!": {
      const test = toBoolean(lowering, operand, node);
      return { kind: "boolean", ir: { kind: "unary", type: "bool", operator, operand: test } };
    }
    case "~": {
      const bits = as("i32", toBits(lowering, operand, node));
      return integer({ kind: "unary", type: "i32", operator, operand: bits }, int32);
    }
    case "+":
      return operand.kind === "boolean"
        ? integer({ kind: "convert", type: "i32", operand: operand.ir }, between(0, 1))
        : operand;
    case "-": {
      if (operand.kind === "integer") {
        const ir: Expression = {
          kind: "unary",
          type: operand.ir.type,
          operator,
          operand: operand.ir,
        };
        return computed(lowering, { ...negative(operand), ir }, node);
      }
      const ir: Expression = {
        kind: "unary",
        type: "f32",
        operator,
        operand: toFloat(lowering, operand, node),
      };
      return { kind: "float", ir };
    }
  }
}

/** One value of two, for conditional expressions. */
export function choose(lowering: Lowering, test: Expression, yes: Value, no: Value, node: Node): Value {
  const conditional = (a: Expression, b: Expression): Expression => ({
    kind: "conditional",
    type: a.type,
    test,
    yes: a,
    no: b,
  });
  const booleans = [yes, no].map((value) => value.kind === "boolean" || isHostBoolean(value));
  if (booleans[0] !== booleans[1]) refuse(loopError.mixedTypes("?:", "number", "boolean", node));
  if (booleans[0]) {
    const ir = conditional(toBoolean(lowering, yes, node), toBoolean(lowering, no, node));
    return { kind: "boolean", ir };
  }
  const whole = (value: Value) => value.kind === "integer" || (value.kind === "host" && !isFraction(value));
  if (whole(yes) && whole(no)) {
    const [a, b] = [asInteger(lowering, yes, node)!, asInteger(lowering, no, node)!];
    const type = a.ir.type === "u32" && b.ir.type === "u32" ? "u32" : "i32";
    const range = hull(rangeOfInteger(lowering, a), rangeOfInteger(lowering, b));
    return integer(conditional(as(type, a.ir), as(type, b.ir)), range);
  }
  return { kind: "float", ir: conditional(toFloat(lowering, yes, node), toFloat(lowering, no, node)) };
}

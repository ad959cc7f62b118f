import type { Node } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import type { LoopExpression, LoopOperator } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import {
  accuracyOf,
  recordDecision,
  refuseWithoutDoubles,
  requireDoubles,
  requireSameRounding,
  requireSpecified,
  computed as rounded,
  stepped,
} from "../numbers/accuracy.ts";
import {
  asInteger,
  refuseCharacter,
  requireQuotient,
  settled,
  toBits,
  toBoolean,
  toFloat,
} from "../numbers/conversions.ts";
import { isNeverZero, rangeOfQuotient, rangeOfRemainder } from "../numbers/divisionRanges.ts";
import {
  commonType,
  computed,
  exact,
  fitsFloat,
  rangeOfInteger,
  safe,
  typeForBoth,
} from "../numbers/exactIntegers.ts";
import { hostBinary, hostUnary, isBitwise, isRelational } from "../numbers/hostValues.ts";
import { known, multiply, scale, zero } from "../numbers/linear.ts";
import { zeroOfNegated, zeroOfProduct, zeroOfRemainder, zeroOfSum } from "../numbers/minusZeros.ts";
import { isFloatScalar, recordUse } from "../numbers/scalarUses.ts";
import {
  as,
  type BooleanValue,
  between,
  boolean,
  type FloatValue,
  type HostValue,
  hostConstant,
  type IntegerValue,
  int32,
  integer,
  isBooleanValue,
  isFloatConstant,
  isPoint,
  type LoweredValue,
  literal,
  negated,
  type PendingValue,
  product,
  sum,
} from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { bitwise } from "./bitwise.ts";
import { held } from "./evaluationOrder.ts";

/** Returns a value as `+x` and `x++` give it: NaN and not undefined for a missing element. */
export function numeric(lowering: Lowering, value: LoweredValue, node: Node): LoweredValue {
  if (value.kind === "float" && value.ir.type === "f32")
    return { ...value, ir: { kind: "convert", type: "f32", operand: value.ir } };
  if (value.kind === "character") return refuseCharacter(node);
  if (value.kind !== "integer" && value.kind !== "float") return value;
  return binary(lowering, "-", value, hostConstant(0), node);
}

/** Translates a binary operator of JavaScript. */
export function binary(
  lowering: Lowering,
  operator: string,
  first: LoweredValue,
  second: LoweredValue,
  node: Node,
): LoweredValue {
  const usesBits = isBitwise(operator);
  const [left, right] = usesBits
    ? [first, second]
    : [settled(lowering, first, node), settled(lowering, second, node)];
  if (left.kind === "host" && right.kind === "host") {
    const result = hostBinary(operator, left, right);
    if (result) return result;
  }
  if (left.kind === "character" || right.kind === "character")
    return compareCharacters(operator, left, right, node);
  if (isRelational(operator)) return compare(lowering, operator, left, right, node);
  if (isBooleanValue(left) || isBooleanValue(right)) {
    if (!usesBits) {
      return refuse(
        loopError.unsupported("arithmetic with a boolean", node, "choose a number: `condition ? 1 : 0`"),
      );
    }
  }
  if (usesBits) return bitwise(lowering, operator, left, right, node);
  if (operator === "**" && right.kind === "host" && right.constant === 2) {
    const base = held(lowering, left);
    return binary(lowering, "*", base, base, node);
  }
  if (operator === "**") return floating("pow", lowering, left, right, node);
  if ([left, right].some((value) => isFloat(lowering, value))) {
    return floating(operator as "+", lowering, left, right, node);
  }
  if (left.kind === "pending" || right.kind === "pending") {
    if (operator === "%") requireQuotient(lowering, node);
    return floating(operator as "+", lowering, left, right, node);
  }
  const [a, b] = [asInteger(lowering, left, node)!, asInteger(lowering, right, node)!];
  switch (operator) {
    case "+":
    case "-": {
      const total = plus(a, operator === "+" ? b : negative(b), operator);
      const { value, make } = computed(lowering, total, (left: LoopExpression, right: LoopExpression) =>
        operation(operator, left, right),
      );
      return { ...value, minusZero: zeroOfSum(lowering, operator, [a, b], make) };
    }
    case "*":
      return times(lowering, a, b, node);
    default:
      return divide(lowering, operator as "/" | "%", a, b);
  }
}

function isFloat(lowering: Lowering, value: LoweredValue): boolean {
  return (
    value.kind === "float" ||
    isFloatConstant(value) ||
    (value.kind === "host" && isFloatScalar(lowering, value))
  );
}

function floating(
  operator: "+" | "-" | "*" | "/" | "%" | "pow",
  lowering: Lowering,
  left: LoweredValue,
  right: LoweredValue,
  node: Node,
): FloatValue {
  if (operator === "/") requireSameRounding(lowering, "this quotient", node);
  if (operator === "pow") requireSpecified(lowering, "a power", node);
  const [a, b] = [toFloat(lowering, left, node), toFloat(lowering, right, node)];
  const type = lowering.floats;
  const isFused = operator === "*" && type === "f32" && lowering.loop.directive.precision === "exact";
  const accuracies = [left, right].map((value) => accuracyOf(lowering, value));
  return {
    kind: "float",
    accuracy: operator === "%" ? stepped(accuracies) : rounded(accuracies),
    ir:
      operator === "pow"
        ? { kind: "call", type, callee: "pow", args: [a, b] }
        : {
            kind: "binary",
            type,
            operator,
            left: a,
            right: b,
            ...(isFused && { rounded: true as const }),
          },
  };
}

/** Makes an integer operation with operands of one type. The type does not change the bits. */
function operation(operator: LoopOperator, left: LoopExpression, right: LoopExpression): LoopExpression {
  const type = left.type === "u32" && right.type === "u32" ? "u32" : "i32";
  return { kind: "binary", type, operator, left: as(type, left), right: as(type, right) };
}

function plus(a: IntegerValue, b: IntegerValue, operator: "+" | "-" = "+"): IntegerValue {
  // For a difference, `b` is the negated range, while its expression is subtracted.
  const slope = sum({ low: a.slope, high: a.slope }, { low: b.slope, high: b.slope }).low;
  return integer(operation(operator, a.ir, b.ir), sum(a, b), slope);
}

const negative = (value: IntegerValue): IntegerValue =>
  integer(value.ir, negated(value), scale(value.slope, -1));

/**
 * Translates a product of integers. One that may exceed 53 bits is rounded, so it needs the exact
 * factors.
 */
function times(
  lowering: Lowering,
  a: IntegerValue,
  b: IntegerValue,
  node: Node,
): IntegerValue | PendingValue | FloatValue {
  const ir = operation("*", a.ir, b.ir);
  const factor = [a, b].find((value) => known(value.slope) === 0 && isPoint(value));
  const other = factor === a ? b : a;
  const result = factor
    ? integer(ir, product(other, factor), multiply(other.slope, factor.low))
    : integer(ir, product(rangeOfInteger(lowering, a), rangeOfInteger(lowering, b)));
  if (!lowering.guards.requireWithin(rangeOfInteger(lowering, result), safe)) {
    const fits = commonType(lowering, [rangeOfInteger(lowering, a), rangeOfInteger(lowering, b)]);
    if (!fits && lowering.floats === "f64") return floating("*", lowering, a, b, node);
    if (!fits) requireDoubles(lowering, "no integer type of 32 bits holds both factors", node);
    const type = fits ?? typeForBoth(lowering, a, b);
    const rounded = operation("*", exact(lowering, a, type), exact(lowering, b, type));
    return { kind: "pending", what: "product", ir: rounded, coerced: int32, operands: [a, b] };
  }
  const small = (left: LoopExpression, right: LoopExpression) =>
    ({ ...operation("*", left, right), small: true }) as LoopExpression;
  return {
    ...result,
    ir: small(a.ir, b.ir),
    minusZero: zeroOfProduct(lowering, [a, b], small),
  };
}

/**
 * Translates a quotient or a remainder, whose operands must be exact. A remainder by a divisor that
 * is never zero is an integer.
 */
function divide(
  lowering: Lowering,
  operator: "/" | "%",
  a: IntegerValue,
  b: IntegerValue,
): IntegerValue | PendingValue {
  const ranges = [rangeOfInteger(lowering, a), rangeOfInteger(lowering, b)] as const;
  const type = typeForBoth(lowering, a, b);
  const make = (left: LoopExpression, right: LoopExpression): LoopExpression => ({
    kind: "binary",
    type,
    operator,
    left: as(type, left),
    right: as(type, right),
  });
  const ir = make(exact(lowering, a, type), exact(lowering, b, type));
  const isExact = isNeverZero(lowering, ranges[1]) && operator === "%";
  const coerced =
    operator === "%" ? rangeOfRemainder(lowering, ...ranges) : rangeOfQuotient(lowering, ...ranges, type);
  if (isExact) return integer(ir, coerced, zero, zeroOfRemainder(lowering, [a, b], make));
  return {
    kind: "pending",
    what: operator === "%" ? "remainder" : "quotient",
    ir,
    coerced,
    operands: [a, b],
  };
}

/** Translates a unary operator of JavaScript. */
export function unary(
  lowering: Lowering,
  operator: "-" | "+" | "~" | "!",
  given: LoweredValue,
  node: Node,
): LoweredValue {
  const operand = operator === "~" ? given : settled(lowering, given, node);
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
        : numeric(lowering, operand, node);
    case "-": {
      if (operand.kind === "integer") {
        const negate = (ir: LoopExpression): LoopExpression => ({
          kind: "unary",
          type: ir.type,
          operator,
          operand: ir,
        });
        const negated = { ...negative(operand), ir: negate(operand.ir) };
        const { value, make } = computed(lowering, negated, negate);
        return { ...value, minusZero: zeroOfNegated(lowering, operand, make) };
      }
      const ir: LoopExpression = {
        kind: "unary",
        type: lowering.floats,
        operator,
        operand: toFloat(lowering, operand, node),
      };
      return { kind: "float", ir, accuracy: accuracyOf(lowering, operand) };
    }
  }
}

/** Translates a comparison of characters, which is one of their code units. */
function compareCharacters(
  operator: string,
  left: LoweredValue,
  right: LoweredValue,
  node: Node,
): BooleanValue {
  if (left.kind !== "character" || right.kind !== "character" || !isRelational(operator))
    return refuseCharacter(node);
  const name = operators[operator] ?? (operator as LoopOperator);
  const ir: LoopExpression = {
    kind: "binary",
    type: "bool",
    operator: name,
    left: left.ir,
    right: right.ir,
  };
  return { kind: "boolean", ir };
}

const operators: Readonly<Record<string, LoopOperator>> = { "===": "==", "!==": "!=" };

/** Translates a comparison. It depends on all bits of both sides, so both must be exact. */
function compare(
  lowering: Lowering,
  operator: string,
  left: LoweredValue,
  right: LoweredValue,
  node: Node,
): BooleanValue {
  const name = operators[operator] ?? (operator as LoopOperator);
  const result = (a: LoopExpression, b: LoopExpression): BooleanValue => ({
    kind: "boolean",
    ir: { kind: "binary", type: "bool", operator: name, left: a, right: b },
  });
  if (isBooleanValue(left) || isBooleanValue(right)) {
    if (!isBooleanValue(left) || !isBooleanValue(right) || !["==", "!="].includes(name)) {
      refuse(loopError.unsupported("this comparison of a boolean", node));
    }
    return result(toBoolean(lowering, left, node), toBoolean(lowering, right, node));
  }
  const isQuotient = left.kind === "pending" || right.kind === "pending";
  if (isQuotient) requireQuotient(lowering, node);
  if (isQuotient || [left, right].some((value) => value.kind === "float" || isWide(value)))
    return compareFloats(lowering, name, left, right, node);
  const [a, b] = [
    wholeBound(lowering, name, left, "left", node),
    wholeBound(lowering, name, right, "right", node),
  ];
  if (typeof a === "boolean" || typeof b === "boolean") {
    const [known, other] = typeof a === "boolean" ? [a, right] : [b, left];
    return known && name !== "!="
      ? isNumber(lowering, other, node)
      : { kind: "boolean", ir: boolean(known as boolean) };
  }
  // A fraction is compared with a number that may be a fraction too.
  const use = isFloatConstant(left) || isFloatConstant(right) ? "float" : "compared";
  for (const { ir } of [a, b]) recordUse(lowering, ir, use);
  const type = typeForBoth(lowering, a, b);
  return result(exact(lowering, a, type), exact(lowering, b, type));
}

/**
 * Returns a test that holds for every integer, and not for NaN. The CPU computes NaN in its place
 * from an element that does not exist.
 */
function isNumber(lowering: Lowering, value: LoweredValue, node: Node): BooleanValue {
  const number = held(lowering, binary(lowering, "-", value, hostConstant(0), node));
  return binary(lowering, "===", number, number, node) as BooleanValue;
}

/**
 * Returns a constant for a comparison with an integer, rounded so that the result stays the same.
 */
function wholeBound(
  lowering: Lowering,
  operator: LoopOperator,
  value: LoweredValue,
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

/** Compares floats. An integer is compared with an f32 if an f32 holds it. */
function compareFloats(
  lowering: Lowering,
  operator: LoopOperator,
  left: LoweredValue,
  right: LoweredValue,
  node: Node,
): BooleanValue {
  if (lowering.floats === "f64") {
    const [a, b] = [left, right].map((value) => {
      // The two zeros are equal.
      const compared = value.kind === "integer" ? { ...value, minusZero: undefined } : value;
      return toFloat(lowering, compared, node);
    });
    return { kind: "boolean", ir: { kind: "binary", type: "bool", operator, left: a!, right: b! } };
  }
  const differs = [left, right].some(
    (value) =>
      value.kind === "host" &&
      typeof value.constant === "number" &&
      Math.fround(value.constant) !== value.constant,
  );
  if (differs && (operator === "==" || operator === "!="))
    return { kind: "boolean", ir: boolean(operator === "!=") };
  // Constants are rounded so that the result stays the same.
  const isKnown = (value: LoweredValue) => value.kind === "host" && value.constant !== undefined;
  recordDecision(
    lowering,
    [left, right].filter((value) => !isKnown(value)),
    node,
  );
  const [a, b] = [left, right].map((value, side): LoopExpression => {
    if (value.kind === "integer" && !fitsFloat(lowering, value)) {
      return refuseWithoutDoubles(
        lowering,
        "this compares an integer that an f32 may not hold",
        node,
        "compare with `Math.fround(value)` if that is precise enough",
      );
    }
    if (value.kind === "host" && typeof value.constant === "number") {
      return constantBound(operator, value, side === 1);
    }
    // The two zeros are equal.
    if (value.kind === "integer") return toFloat(lowering, { ...value, minusZero: undefined }, node);
    return toFloat(lowering, value, node);
  });
  return { kind: "boolean", ir: { kind: "binary", type: "bool", operator, left: a!, right: b! } };
}

/** Returns true for a constant that integers of more than 32 bits may equal. */
function isWide(value: LoweredValue): boolean {
  const size = isFloatConstant(value) ? Math.abs((value as HostValue).constant as number) : 0;
  return size >= 2 ** 31 && size < 2 ** 53;
}

function constantBound(operator: LoopOperator, { constant }: HostValue, isRight: boolean): LoopExpression {
  const value = constant as number;
  const rounded = Math.fround(value);
  if (rounded === value || Number.isNaN(value)) return literal("f32", rounded);
  const up = operator === (isRight ? "<" : ">") || operator === (isRight ? ">=" : "<=");
  return literal("f32", neighbor(rounded, value, up));
}

/** Returns the f32 next to a number, above or below it. */
function neighbor(rounded: number, value: number, up: boolean): number {
  if (rounded > value === up) return rounded;
  const bits = new Int32Array(Float32Array.of(rounded).buffer);
  if (rounded === 0) return up ? 2 ** -149 : -(2 ** -149);
  bits[0]! += rounded > 0 === up ? 1 : -1;
  return new Float32Array(bits.buffer)[0]!;
}

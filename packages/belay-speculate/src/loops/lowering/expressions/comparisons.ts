import type { Node } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import type { LoopExpression, LoopOperator } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import { recordDecision } from "../numbers/accuracy.ts";
import { asInteger, refusePending, toBoolean, toFloat } from "../numbers/conversions.ts";
import { exact, fitsFloat, typeForBoth } from "../numbers/exactIntegers.ts";
import { recordUse } from "../numbers/scalarUses.ts";
import {
  type BooleanValue,
  boolean,
  type HostValue,
  hostConstant,
  type IntegerValue,
  isBooleanValue,
  isFraction,
  type LoweredValue,
  literal,
} from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { binary } from "./arithmetic.ts";
import { held } from "./expressions.ts";

const operators: Readonly<Record<string, LoopOperator>> = { "===": "==", "!==": "!=" };

/** Translates a comparison. It depends on all bits of both sides, so both must be exact. */
export function compare(
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
  if (left.kind === "pending" || right.kind === "pending") refusePending(node);
  if (left.kind === "float" || right.kind === "float")
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
  const use = isFraction(left) || isFraction(right) ? "float" : "compared";
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

/** Compares floats. An integer is compared with a float if an f32 holds it. */
function compareFloats(
  lowering: Lowering,
  operator: LoopOperator,
  left: LoweredValue,
  right: LoweredValue,
  node: Node,
): BooleanValue {
  const differs = [left, right].some(
    (value) => isFraction(value) && Math.fround(numberOf(value)) !== numberOf(value),
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
    // The two zeros are equal.
    if (value.kind === "integer") return toFloat(lowering, { ...value, minusZero: undefined }, node);
    return toFloat(lowering, value, node);
  });
  return { kind: "boolean", ir: { kind: "binary", type: "bool", operator, left: a!, right: b! } };
}

const numberOf = (value: LoweredValue) => (value as HostValue).constant as number;

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

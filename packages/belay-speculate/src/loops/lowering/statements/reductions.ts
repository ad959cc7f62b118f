import type { AssignmentExpression, Expression as Source, UpdateExpression } from "oxc-parser";
import { loopError, loopWarning } from "../../../diagnostics/loops.ts";
import { withoutTypes } from "../../source/declaredTypes.ts";
import { lookUp } from "../../source/scopes.ts";
import type { LoopExpression, Reduction } from "../../tree/ir.ts";
import type { Lowering, Meaning } from "../lowering.ts";
import { accuracyOf, requireDoubles } from "../numbers/accuracy.ts";
import { asInteger, toBits, toFloat } from "../numbers/conversions.ts";
import { exact, rangeOfInteger, refuseWide } from "../numbers/exactIntegers.ts";
import { refuseMinusZero } from "../numbers/minusZeros.ts";
import {
  as,
  hostConstant,
  int32,
  integer,
  type LoweredValue,
  negated,
  numbers,
  uint32,
} from "../numbers/values.ts";
import { refuse } from "../refusal.ts";
import { rangeOf, typeOfVariable } from "../variables.ts";
import { kindOf, recordAssignment } from "./setVariables.ts";

type ReductionMeaning = Extract<Meaning, { kind: "reduction" }>;

/** The smallest absolute value of which two additions may leave 32 bits. */
const largestSummand = 2 ** 30;

/**
 * Translates a statement that only reduces: `s += x`, `s++`, `s = s + x`, `s = (s + x) | 0`, `s =
 * Math.min(s, x)`, `s = Math.imul(s, x)`.
 */
export function reduce(
  lowering: Lowering,
  { operator, variable }: ReductionMeaning,
  name: string,
  node: AssignmentExpression | UpdateExpression,
): LoweredValue {
  const found = reducedBy(node, name, operator, lookUp(lowering.scope, "Math") === undefined);
  if (!found) return refuse(loopError.notReduced(name, operator, node));
  const value = found.value ? lowering.expression(found.value) : hostConstant(1);
  const result = operand(value);
  lowering.emit({ kind: "reduce", name: variable.name, value: result });
  return value;

  function operand(value: LoweredValue): LoopExpression {
    const kind = kindOf(value, node);
    if (kind === "boolean") return refuse(loopError.mixedTypes(name, "boolean", "number", node));
    if (kind === "float" || variable.kind === "float" || found!.rounds) {
      if ("&|^".includes(operator)) return bits(value);
      if (lowering.floats === "f64") return refuse(loopError.doubleReduction(name, node));
      if ("+*".includes(operator)) {
        requireDoubles(lowering, `a GPU adds up the floats of \`${name}\` in another order`, node);
        if (!found!.rounds) lowering.warn(loopWarning.floatSum(name, node));
      } else if (accuracyOf(lowering, value) !== "exact") {
        requireDoubles(lowering, `\`${name}\` keeps a double from iteration to iteration`, node);
      }
      lowering.variables.set(variable, "float", int32, node);
      const rounded = toFloat(lowering, value, node);
      return found!.negate ? { kind: "unary", type: "f32", operator: "-", operand: rounded } : rounded;
    }
    if ("&|^".includes(operator) || found!.wraps) return bits(value);
    const whole = asInteger(lowering, value, node)!;
    if (operator === "*")
      return refuse(
        loopError.inexactInteger(
          "a product of integers grows without bound",
          node,
          `write \`${name} = Math.imul(${name}, value)\``,
        ),
      );
    if (operator === "+") {
      const signed = found!.negate ? negate(whole) : whole;
      const range = numbers(rangeOfInteger(lowering, signed));
      if (range && Math.max(-range[0], range[1]) >= largestSummand) {
        return refuse(
          loopError.inexactInteger(
            "this sum may have more than 32 bits",
            node,
            `say that it wraps: \`${name} = (${name} + value) | 0\``,
          ),
        );
      }
      recordAssignment(lowering, variable, signed, node, { operator: "+", change: signed });
      checkRange();
      return as(typeOfVariable(variable), signed.ir);
    }
    refuseMinusZero(lowering, name, whole, node);
    lowering.variables.set(variable, "integer", rangeOfInteger(lowering, whole), node);
    checkRange();
    return exact(lowering, whole, typeOfVariable(variable) as "i32");
  }

  function bits(value: LoweredValue): LoopExpression {
    if (operator === "+") lowering.wrappingSums.add(variable.name);
    lowering.variables.set(variable, "integer", found!.unsigned ? uint32 : int32, node);
    const type = typeOfVariable(variable);
    const low = as(type, toBits(lowering, value, node));
    return found!.negate ? { kind: "unary", type, operator: "-", operand: low } : low;
  }

  function checkRange(): void {
    const type = typeOfVariable(variable);
    if (!lowering.guards.requireWithin(rangeOf(variable), type === "u32" ? uint32 : int32)) refuseWide(node);
  }
}

const negate = (value: ReturnType<typeof integer>) =>
  integer({ kind: "unary", type: value.ir.type, operator: "-", operand: value.ir }, negated(value));

interface Reduced {
  /** The reduced value; null stands for 1. */
  readonly value: Source | null;
  readonly negate: boolean;
  /** True if the program takes the result modulo 2^32. */
  readonly wraps: boolean;
  readonly unsigned: boolean;
  /** True if the program rounds the result to an f32. */
  readonly rounds: boolean;
}

/**
 * Returns the value that a statement reduces into `name`; undefined if the statement does anything
 * else.
 */
function reducedBy(
  node: AssignmentExpression | UpdateExpression,
  name: string,
  operator: Reduction["operator"],
  hasMath: boolean,
): Reduced | undefined {
  const plain = { negate: false, wraps: false, unsigned: false, rounds: false };
  if (node.type === "UpdateExpression") {
    return operator === "+" ? { ...plain, value: null, negate: node.operator === "--" } : undefined;
  }
  if (node.operator !== "=") {
    const written = node.operator.slice(0, -1);
    if (written === "-" && operator === "+") return { ...plain, value: node.right, negate: true };
    return written === operator ? { ...plain, value: node.right } : undefined;
  }
  const right = withoutTypes(node.right);
  if (right.type === "BinaryExpression") {
    const isZero = right.right.type === "Literal" && right.right.value === 0;
    // The first minimum may coerce the value from before the loop, so its coercion is no reduction.
    const mayWrap = operator !== "min" && operator !== "max" && operator !== "|";
    if (isZero && (right.operator === "|" || right.operator === ">>>") && mayWrap) {
      const inner = combined(withoutTypes(right.left as Source), name, operator, hasMath);
      return inner && { ...inner, wraps: true, unsigned: right.operator === ">>>" };
    }
  }
  const rounded = hasMath ? froundedBy(right) : undefined;
  if (rounded) {
    const inner = combined(withoutTypes(rounded), name, operator, hasMath);
    return inner && { ...inner, rounds: true };
  }
  return combined(right, name, operator, hasMath);
}

/** Returns the argument of an expression that is a call of `Math.fround`. */
function froundedBy(node: Source): Source | undefined {
  if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return undefined;
  const { object, property, computed } = node.callee;
  const isFround =
    !computed && object.type === "Identifier" && object.name === "Math" && property.type === "Identifier";
  return isFround && property.name === "fround" ? (node.arguments[0] as Source) : undefined;
}

function combined(
  node: Source,
  name: string,
  operator: Reduction["operator"],
  hasMath: boolean,
): Reduced | undefined {
  const isName = (one: Source) => one.type === "Identifier" && one.name === name;
  const result = (value: Source, more: Partial<Reduced> = {}): Reduced => ({
    value,
    negate: false,
    wraps: false,
    unsigned: false,
    rounds: false,
    ...more,
  });
  if (node.type === "BinaryExpression") {
    const [left, right] = [withoutTypes(node.left as Source), withoutTypes(node.right)];
    if (node.operator === "-" && operator === "+" && isName(left)) return result(right, { negate: true });
    if (node.operator !== operator) return undefined;
    return isName(left) ? result(right) : isName(right) ? result(left) : undefined;
  }
  if (node.type === "CallExpression" && node.arguments.length === 2) {
    const { callee } = node;
    const [left, right] = node.arguments as [Source, Source];
    if (callee.type !== "MemberExpression" || callee.computed || callee.object.type !== "Identifier")
      return undefined;
    if (!hasMath || callee.object.name !== "Math" || callee.property.type !== "Identifier") return undefined;
    const called = callee.property.name;
    if (called !== operator && !(called === "imul" && operator === "*")) return undefined;
    const value = isName(left) ? right : isName(right) ? left : undefined;
    return value && result(value, { wraps: called === "imul" });
  }
  return undefined;
}

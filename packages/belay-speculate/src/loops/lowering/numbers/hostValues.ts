/**
 * Operations on host values. Constant operands are computed now; other operations are left to the
 * host as code.
 */
import { add, known, type Linear, multiply, scale, subtract } from "./linear.ts";
import {
  between,
  type HostValue,
  hostBoolean,
  hostConstant,
  hostNumber,
  type Interval,
  int32,
  isPoint,
  type Nature,
  negated,
  sum,
  uint32,
} from "./values.ts";

type Operation = (a: never, b: never) => number | boolean;

const numeric: Readonly<Record<string, (a: number, b: number) => number>> = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => a / b,
  "%": (a, b) => a % b,
  "**": (a, b) => a ** b,
  "&": (a, b) => a & b,
  "|": (a, b) => a | b,
  "^": (a, b) => a ^ b,
  "<<": (a, b) => a << b,
  ">>": (a, b) => a >> b,
  ">>>": (a, b) => a >>> b,
};

const relational: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "==": (a, b) => a === b,
  "===": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  "!==": (a, b) => a !== b,
};

export const isBitwise = (operator: string) => ["&", "|", "^", "<<", ">>", ">>>"].includes(operator);
export const isRelational = (operator: string) => Object.hasOwn(relational, operator);

/**
 * Returns the result of an operation on two host values; undefined if JavaScript would not do
 * arithmetic.
 */
export function hostBinary(operator: string, left: HostValue, right: HostValue): HostValue | undefined {
  if (left.type !== right.type) return undefined;
  const operation = ((left.type === "number" && numeric[operator]) || relational[operator]) as
    | Operation
    | undefined;
  if (!operation) return undefined;
  if (left.constant !== undefined && right.constant !== undefined) {
    return hostConstant(operation(left.constant as never, right.constant as never));
  }
  const code = `(${left.code} ${operator} ${right.code})`;
  if (isRelational(operator)) return hostBoolean(code);
  const nature = natureOf(operator, left.nature, right.nature);
  const linear = combined[operator]?.(left.linear, right.linear);
  const range = rangeOf(operator, left.range, right.range);
  return hostNumber(code, nature, { ...(linear && { linear }), range });
}

const combined: Readonly<Record<string, (left: Linear, right: Linear) => Linear>> = {
  "+": add,
  "-": subtract,
  "*": multiply,
};

function rangeOf(
  operator: string,
  left: Interval | undefined,
  right: Interval | undefined,
): Interval | undefined {
  const mask = [left, right].flatMap((one) => (one && isPoint(one) ? [known(one.low) ?? -1] : []))[0];
  if (operator === "&" && mask !== undefined && mask >= 0 && mask < 2 ** 31) return between(0, mask);
  if (isBitwise(operator)) return operator === ">>>" ? uint32 : int32;
  if (!left || !right) return undefined;
  if (operator === "+") return sum(left, right);
  return operator === "-" ? sum(left, negated(right)) : undefined;
}

function natureOf(operator: string, left: Nature, right: Nature): Nature {
  if (isBitwise(operator)) return "integer";
  if (!"+-*".includes(operator)) return "any";
  if (left === "float" || right === "float") return "float";
  return left === "integer" && right === "integer" ? "integer" : "any";
}

export function hostUnary(operator: "-" | "+" | "~" | "!", operand: HostValue): HostValue | undefined {
  const { constant, code } = operand;
  if (operator === "!") return constant === undefined ? hostBoolean(`(!${code})`) : hostConstant(!constant);
  if (operand.type !== "number") return undefined;
  if (typeof constant === "number") {
    return hostConstant(operator === "-" ? -constant : operator === "~" ? ~constant : constant);
  }
  if (operator === "+") return operand;
  if (operator === "~") return hostNumber(`(~${code})`, "integer", { range: int32 });
  return hostNumber(`(-${code})`, operand.nature, {
    linear: scale(operand.linear, -1),
    range: operand.range && negated(operand.range),
  });
}

const integralFunctions = new Set(["floor", "ceil", "round", "trunc", "sign", "imul", "clz32"]);

export function hostCall(name: string, args: readonly HostValue[]): HostValue {
  const isWhole =
    integralFunctions.has(name) ||
    (["min", "max", "abs"].includes(name) && args.every(({ nature }) => nature === "integer"));
  const nature = name === "fround" ? "float" : isWhole ? "integer" : "any";
  if (args.every(({ constant }) => typeof constant === "number")) {
    const call = Math[name as "pow"] as (...values: number[]) => number;
    return hostConstant(call(...args.map(({ constant }) => constant as number)));
  }
  return hostNumber(`Math.${name}(${args.map(({ code }) => code).join(", ")})`, nature);
}

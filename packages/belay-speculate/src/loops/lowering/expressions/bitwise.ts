import type { Node } from "oxc-parser";
import type { LoopExpression, LoopOperator } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import { toBits } from "../numbers/conversions.ts";
import { rangeOfInteger } from "../numbers/exactIntegers.ts";
import { recordUse } from "../numbers/scalarUses.ts";
import {
  as,
  between,
  type IntegerValue,
  type Interval,
  int32,
  integer,
  type LoweredValue,
  numbers,
  uint32,
} from "../numbers/values.ts";

/** Translates the integer operators, which use the low 32 bits of their operands. */
export function bitwise(
  lowering: Lowering,
  operator: string,
  left: LoweredValue,
  right: LoweredValue,
  node: Node,
): IntegerValue {
  const [a, b] = [toBits(lowering, left, node), toBits(lowering, right, node)];
  for (const bits of [a, b]) recordUse(lowering, bits, "integer");
  if (isZero(b) && (operator === "|" || operator === ">>" || operator === ">>>")) {
    return coerced(lowering, operator === ">>>" ? "u32" : "i32", left, a);
  }
  const ranges = [signed(lowering, left), signed(lowering, right)] as const;
  const [from, to] = ranges[0];
  const count = ranges[1][0] === ranges[1][1] ? ranges[1][0] & 31 : undefined;
  const shift = (type: "i32" | "u32", range: Interval) =>
    integer({ kind: "binary", type, operator: operator as LoopOperator, left: a, right: b }, range);
  switch (operator) {
    case "<<": {
      const fits = count !== undefined && Math.max(-from, to + 1) * 2 ** count <= 2 ** 31;
      return shift("i32", fits ? between(from * 2 ** count, to * 2 ** count) : int32);
    }
    case ">>":
      return shift(
        "i32",
        count === undefined
          ? between(Math.min(from, 0), Math.max(to, 0))
          : between(from >> count, to >> count),
      );
    case ">>>": {
      if (count === undefined) return shift("u32", uint32);
      return shift(
        "u32",
        from >= 0 ? between(from >>> count, to >>> count) : between(0, 0xffffffff >>> count),
      );
    }
    default:
      return integer(
        {
          kind: "binary",
          type: "i32",
          operator: operator as LoopOperator,
          left: as("i32", a),
          right: as("i32", b),
        },
        rangeOfBits(operator, ranges[0], ranges[1]),
      );
  }
}

const isZero = (ir: LoopExpression) => ir.kind === "literal" && ir.value === 0;

/**
 * Translates `x | 0` and `x >>> 0`. Facts about a value that is such an integer already are kept.
 */
function coerced(
  lowering: Lowering,
  type: "i32" | "u32",
  value: LoweredValue,
  bits: LoopExpression,
): IntegerValue {
  const ir: LoopExpression =
    value.kind === "float"
      ? { kind: "convert", type, operand: value.ir }
      : { kind: "convert", type, operand: bits };
  const all = type === "u32" ? uint32 : int32;
  if (value.kind === "integer") {
    const stays = lowering.guards.within(rangeOfInteger(lowering, value), all) === "known";
    return stays ? { ...value, ir, minusZero: undefined } : integer(ir, all);
  }
  if (value.kind === "boolean") return integer(ir, between(0, 1));
  if (value.kind === "pending") {
    return integer(ir, lowering.guards.within(value.coerced, all) === "known" ? value.coerced : all);
  }
  return integer(ir, all);
}

/** Returns the range of a value as an i32. */
function signed(lowering: Lowering, value: LoweredValue): readonly [number, number] {
  const whole = [-(2 ** 31), 2 ** 31 - 1] as const;
  if (value.kind === "host") {
    return typeof value.constant === "number" ? [value.constant | 0, value.constant | 0] : whole;
  }
  if (value.kind === "boolean") return [0, 1];
  if (value.kind !== "integer") return whole;
  const range = numbers(rangeOfInteger(lowering, value));
  return range && range[0] >= whole[0] && range[1] <= whole[1] ? range : whole;
}

function rangeOfBits(
  operator: string,
  [low, high]: readonly [number, number],
  [least, most]: readonly [number, number],
): Interval {
  if (operator === "&") {
    if (low >= 0 && least >= 0) return between(0, Math.min(high, most));
    if (low >= 0) return between(0, high);
    return least >= 0 ? between(0, most) : int32;
  }
  return low >= 0 && least >= 0 ? between(0, 2 ** (32 - Math.clz32(high | most)) - 1) : int32;
}

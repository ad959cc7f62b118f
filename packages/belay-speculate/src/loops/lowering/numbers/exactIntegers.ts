/** Integers in types that hold them exactly, with the host's checks where they are needed. */
import type { Node } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import type { LoopExpression, NumberType, ValueType } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import { refuse } from "../refusal.ts";
import { checkedAs } from "./checkedIntegers.ts";
import { known, multiply } from "./linear.ts";
import { as, between, hull, type IntegerValue, type Interval, int32, sum, uint32 } from "./values.ts";

/** The integers that a double represents exactly. */
export const safe = between(-(2 ** 53), 2 ** 53);
/** The integers that an f32 represents exactly. */
export const exactFloats = between(-(2 ** 24), 2 ** 24);

/** Returns the range of an integer over all iterations. */
export function rangeOfInteger(lowering: Lowering, { slope, low, high }: IntegerValue): Interval {
  const ends = [multiply(slope, lowering.index.low), multiply(slope, lowering.index.high)];
  // Without iterations the range is not used, so a first and a last index may be assumed.
  const factor = known(slope);
  if (factor !== undefined) {
    const [first, last] = factor >= 0 ? ends : ends.reverse();
    return sum({ low: first!, high: last! }, { low, high });
  }
  const moved = hull({ low: ends[0]!, high: ends[0]! }, { low: ends[1]!, high: ends[1]! });
  return sum(moved, { low, high });
}

/**
 * Returns the integer in a type that holds it exactly, for operations that depend on all its bits.
 * The type is given, or follows from the range. The host checks the bounds that only it knows.
 */
export function exact(lowering: Lowering, value: IntegerValue, type?: NumberType): LoopExpression {
  const range = rangeOfInteger(lowering, value);
  const chosen = type ?? commonType(lowering, [range]);
  if (chosen && lowering.guards.requireWithin(range, chosen === "u32" ? uint32 : int32))
    return as(chosen, value.ir);
  return checkedAs(lowering.variables, wholeType(chosen ?? value.ir.type), value.ir);
}

/**
 * Returns an integer that iterations pass on, as {@link exact} does. A sum that may leave its type
 * in long loops is checked at each addition. The host then need not limit their length.
 */
export function exactSum(lowering: Lowering, value: IntegerValue, type: "i32" | "u32"): LoopExpression {
  const isShort = lowering.guards.withinIfLarge(rangeOfInteger(lowering, value), rangeOfType(type));
  return isShort ? exact(lowering, value, type) : checkedAs(lowering.variables, type, value.ir);
}

const wholeType = (type: ValueType): "i32" | "u32" => (type === "u32" ? "u32" : "i32");

/** Returns the integers that a type of 32 bits holds. */
export const rangeOfType = (type: ValueType): Interval => (type === "u32" ? uint32 : int32);

export const refuseWide = (node: Node): never =>
  refuse(
    loopError.inexactInteger(
      "this integer may have more than 32 bits",
      node,
      "coerce it where it is computed, as in `(a + b) | 0`",
    ),
  );

/**
 * Returns an integer type that holds all these ranges. A type that needs no check by the host is
 * preferred.
 */
export function commonType({ guards }: Lowering, ranges: readonly Interval[]): "i32" | "u32" | undefined {
  const states = (["i32", "u32"] as const).map((type) => {
    const each = ranges.map((range) => guards.within(range, type === "u32" ? uint32 : int32));
    return { type, state: each.includes("never") ? "never" : each.includes("open") ? "open" : "known" };
  });
  return (states.find(({ state }) => state === "known") ?? states.find(({ state }) => state === "open"))
    ?.type;
}

/**
 * Returns true if an f32 holds every value of the range. The host checks the bounds that only it
 * knows.
 */
export function fitsFloat(lowering: Lowering, value: IntegerValue): boolean {
  return lowering.guards.requireWithin(rangeOfInteger(lowering, value), exactFloats);
}

/**
 * Returns an integer computed from others. It is checked if a double may not hold it, because its
 * low bits would be lost. `make` makes the same integer of other operands.
 */
export function computed<Make extends (...operands: LoopExpression[]) => LoopExpression>(
  lowering: Lowering,
  value: IntegerValue,
  make: Make,
): { readonly value: IntegerValue; readonly make: (...operands: Parameters<Make>) => LoopExpression } {
  if (lowering.guards.requireWithin(rangeOfInteger(lowering, value), safe)) return { value, make };
  const check = (ir: LoopExpression) => checkedAs(lowering.variables, wholeType(ir.type), ir);
  return { value: { ...value, ir: check(value.ir) }, make: (...operands) => check(make(...operands)) };
}

/**
 * Returns an integer type for both operands. If no type holds both, they are checked in the one
 * that is returned.
 */
export function typeForBoth(lowering: Lowering, one: IntegerValue, other: IntegerValue): "i32" | "u32" {
  const ranges = [one, other].map((value) => rangeOfInteger(lowering, value));
  const areUnsigned = one.ir.type === "u32" && other.ir.type === "u32";
  return commonType(lowering, ranges) ?? (areUnsigned ? "u32" : "i32");
}

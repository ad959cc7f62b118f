/** Integers in types that hold them exactly, with the host's checks where they are needed. */
import type { Node } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import type { LoopExpression, NumberType } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import { refuse } from "../refusal.ts";
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
export function exact(
  lowering: Lowering,
  value: IntegerValue,
  node: Node,
  type?: NumberType,
): LoopExpression {
  const range = rangeOfInteger(lowering, value);
  const chosen = type ?? commonType(lowering, [range]);
  if (!chosen || !lowering.guards.requireWithin(range, chosen === "u32" ? uint32 : int32)) {
    return refuseWide(node);
  }
  return as(chosen, value.ir);
}

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
 * Returns an integer computed from others. Refuses it if a double may not hold it, because its low
 * bits would be lost.
 */
export function computed(lowering: Lowering, value: IntegerValue, node: Node): IntegerValue {
  if (!lowering.guards.requireWithin(rangeOfInteger(lowering, value), safe)) {
    refuse(
      loopError.inexactInteger(
        "this integer may grow beyond what a double holds exactly",
        node,
        "coerce it where it is computed, as in `(a + b) | 0`",
      ),
    );
  }
  return value;
}

/** Returns an integer type that holds both operands exactly. */
export function typeForBoth(lowering: Lowering, one: Interval, other: Interval, node: Node): "i32" | "u32" {
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

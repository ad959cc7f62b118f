/** Integers in types that hold them exactly, and how far the host has to check that. */
import type { Node } from "oxc-parser";
import { loopError } from "../../../diagnostics/loops.ts";
import type { Expression, NumberType } from "../../tree/ir.ts";
import type { Lowering } from "../lowering.ts";
import { refuse } from "../refusal.ts";
import { known, multiply } from "./linear.ts";
import { as, between, hull, type IntegerValue, type Interval, int32, sum, uint32 } from "./values.ts";

/** Integers that a double tells apart. */
export const safe = between(-(2 ** 53), 2 ** 53);
/** Integers that an f32 tells apart. */
export const exactFloats = between(-(2 ** 24), 2 ** 24);

/** All values that the integer has over the iterations. */
export function rangeOfInteger(lowering: Lowering, { slope, low, high }: IntegerValue): Interval {
  const ends = [multiply(slope, lowering.index.low), multiply(slope, lowering.index.high)];
  // There is a first and a last index: without iterations nothing is said about any.
  const factor = known(slope);
  if (factor !== undefined) {
    const [first, last] = factor >= 0 ? ends : ends.reverse();
    return sum({ low: first!, high: last! }, { low, high });
  }
  const moved = hull({ low: ends[0]!, high: ends[0]! }, { low: ends[1]!, high: ends[1]! });
  return sum(moved, { low, high });
}

/**
 * The integer in a type that holds it exactly, for what looks at all of it. The type is given, or
 * follows from the range; the host checks what only it knows.
 */
export function exact(lowering: Lowering, value: IntegerValue, node: Node, type?: NumberType): Expression {
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
 * An integer type that holds all these ranges, by what is known now if possible, else as far as the
 * host can check.
 */
export function commonType({ guards }: Lowering, ranges: readonly Interval[]): "i32" | "u32" | undefined {
  const states = (["i32", "u32"] as const).map((type) => {
    const each = ranges.map((range) => guards.within(range, type === "u32" ? uint32 : int32));
    return { type, state: each.includes("never") ? "never" : each.includes("open") ? "open" : "known" };
  });
  return (states.find(({ state }) => state === "known") ?? states.find(({ state }) => state === "open"))
    ?.type;
}

/** Whether every value of the range is one that an f32 has; the host checks what only it knows. */
export function fitsFloat(lowering: Lowering, value: IntegerValue): boolean {
  return lowering.guards.requireWithin(rangeOfInteger(lowering, value), exactFloats);
}

/** An integer computed from others: a double must hold it, or its low bits are lost. */
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

/** An integer type that holds both operands exactly. */
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

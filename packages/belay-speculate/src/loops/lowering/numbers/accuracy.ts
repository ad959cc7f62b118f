/**
 * What becomes of the program's doubles in f32, and where that decides more than a number's last
 * bits.
 */
import type { Node } from "oxc-parser";
import { loopWarning } from "../../../diagnostics/loops.ts";
import type { Lowering } from "../lowering.ts";
import { exactFloats, rangeOfInteger } from "./exactIntegers.ts";
import type { Accuracy, Value } from "./values.ts";

const order: readonly Accuracy[] = ["exact", "rounded", "other"];

/** The less accurate of two. */
export const worse = (one: Accuracy, other: Accuracy): Accuracy =>
  order.indexOf(one) >= order.indexOf(other) ? one : other;

/** The accuracy of a value as an f32. */
export function accuracyOf(lowering: Lowering, value: Value): Accuracy {
  switch (value.kind) {
    case "float":
      return value.accuracy;
    case "integer":
      return lowering.guards.within(rangeOfInteger(lowering, value), exactFloats) === "known"
        ? "exact"
        : "rounded";
    case "host":
      if (typeof value.constant === "number") {
        return Object.is(Math.fround(value.constant), value.constant) ? "exact" : "rounded";
      }
      return value.type === "boolean" || value.code.startsWith("Math.fround(") ? "exact" : "rounded";
    case "pending":
      return value.operands.reduce(
        (accuracy: Accuracy, operand) => worse(accuracy, computed([accuracyOf(lowering, operand)])),
        "rounded",
      );
    case "boolean":
      return "exact";
  }
}

/** The accuracy of what is computed from values, and has to be rounded. */
export const computed = (operands: readonly Accuracy[]): Accuracy =>
  operands.every((one) => one === "exact") ? "rounded" : "other";

/** Of what is exact for exact operands, and jumps between them, as `Math.floor` does. */
export const stepped = (operands: readonly Accuracy[]): Accuracy =>
  operands.every((one) => one === "exact") ? "exact" : "other";

/** Of one of several values: rounding keeps their order. */
export const chosen = (values: readonly Accuracy[]): Accuracy => values.reduce(worse, "exact");

/**
 * Warns where an f32 that may be another number than the program's decides about an integer, an
 * element or a branch.
 */
export function noteDecision(lowering: Lowering, values: readonly Value[], node: Node): void {
  const isFloat = values.some(({ kind }) => kind === "float");
  if (isFloat && values.some((value) => accuracyOf(lowering, value) !== "exact")) {
    lowering.warn(loopWarning.floatDecides(node));
  }
}

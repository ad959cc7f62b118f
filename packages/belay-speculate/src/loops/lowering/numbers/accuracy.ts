/**
 * The accuracy of the program's doubles as f32, and warnings where it affects more than a number's
 * last bits.
 */
import type { Node } from "oxc-parser";
import { loopWarning } from "../../../diagnostics/loops.ts";
import type { Lowering } from "../lowering.ts";
import { exactFloats, rangeOfInteger } from "./exactIntegers.ts";
import { type Accuracy, type LoweredValue, worse } from "./values.ts";

/** Returns the accuracy of a value as an f32. */
export function accuracyOf(lowering: Lowering, value: LoweredValue): Accuracy {
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

/** Returns the accuracy of a result that is computed from values and rounded. */
export const computed = (operands: readonly Accuracy[]): Accuracy =>
  operands.every((one) => one === "exact") ? "rounded" : "other";

/**
 * Returns the accuracy of a result that is exact for exact operands and jumps between values, as
 * `Math.floor` does.
 */
export const stepped = (operands: readonly Accuracy[]): Accuracy =>
  operands.every((one) => one === "exact") ? "exact" : "other";

/** Returns the accuracy of one of several values. Rounding keeps their order. */
export const chosen = (values: readonly Accuracy[]): Accuracy => values.reduce(worse, "exact");

/**
 * Warns if an f32 that may differ from the program's number decides an integer, an element or a
 * branch.
 */
export function recordDecision(lowering: Lowering, values: readonly LoweredValue[], node: Node): void {
  const isFloat = values.some(({ kind }) => kind === "float");
  if (isFloat && values.some((value) => accuracyOf(lowering, value) !== "exact")) {
    lowering.warn(loopWarning.floatDecides(node));
  }
}

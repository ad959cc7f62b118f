/**
 * The accuracy of the program's doubles as f32, and warnings where it affects more than a number's
 * last bits.
 */
import type { Node } from "oxc-parser";
import { loopError, loopWarning } from "../../../diagnostics/loops.ts";
import type { Lowering } from "../lowering.ts";
import { refuse } from "../refusal.ts";
import { exactFloats, rangeOfInteger } from "./exactIntegers.ts";
import { type Accuracy, type LoweredValue, worse } from "./values.ts";

/** Returns the accuracy of a value as a float of the loop. */
export function accuracyOf(lowering: Lowering, value: LoweredValue): Accuracy {
  if (lowering.floats === "f64") return "exact";
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
    case "character":
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
 * Notes that values decide an integer, an element or a branch. An f32 that may differ from the
 * program's number is refused, unless 32 bits will do: then there is a warning.
 */
export function recordDecision(lowering: Lowering, values: readonly LoweredValue[], node: Node): void {
  const isFloat = values.some(({ kind }) => kind === "float");
  if (!isFloat || values.every((value) => accuracyOf(lowering, value) === "exact")) return;
  requireDoubles(lowering, "an f32 in place of this double may decide otherwise", node);
  lowering.warn(loopWarning.floatDecides(node));
}

/**
 * Refuses the loop because of a number that an f32 does not hold, unless the directive says that 32
 * bits will do. The translation goes on, as later statements may show that the number is a float.
 */
export function requireDoubles({ loop, floats, diagnostics }: Lowering, reason: string, node: Node): void {
  if (loop.directive.precision === "exact" && floats === "f32")
    diagnostics.push(loopError.needsDoubles(reason, node));
}

/**
 * Refuses a function of doubles whose last bits JavaScript leaves to each engine. Only the engine
 * itself gives its results.
 */
export function requireSpecified(lowering: Lowering, what: string, node: Node): void {
  if (lowering.floats === "f64") lowering.diagnostics.push(loopError.unspecifiedFunction(what, node));
  else requireSameRounding(lowering, what, node);
}

/** Refuses a place that is translated in no other way than with doubles. */
export function refuseWithoutDoubles(lowering: Lowering, reason: string, node: Node, help: string): never {
  requireDoubles(lowering, reason, node);
  const isTold = lowering.loop.directive.precision === "exact";
  return refuse(isTold ? null : loopError.inexactInteger(reason, node, help));
}

/** Refuses an operation whose result a GPU may round in another way than the CPU. */
export function requireSameRounding(lowering: Lowering, what: string, node: Node): void {
  requireDoubles(lowering, `a GPU may round ${what} in another way`, node);
}

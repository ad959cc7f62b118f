import type { Expression } from "../tree/ir.ts";
import { oncePerLoop } from "../tree/oncePerLoop.ts";
import { everyExpression } from "../tree/walk.ts";

/**
 * Whether a GPU may compute other bits than the CPU: WGSL leaves it open how f32 arithmetic and conversions to f32 are rounded, whether
 * operations are fused, in which order an f32 reduction adds, and whether an operation takes numbers too small to be normal (below 2⁻¹²⁶)
 * for zero. Copies of floats are exact, and so is what kernels do with their bits: comparisons, remainders, the nearest integers, minima
 * and maxima, conversions to integers and booleans.
 *
 * Source: WGSL, 15.7.2 "Differences from IEEE-754", 15.7.4 "Floating point accuracy" and 15.7.5 "Reassociation and fusion".
 */
export const hasOpenRounding = oncePerLoop(
  (loop) =>
    loop.reductions.some(({ type, operator }) => type === "f32" && (operator === "+" || operator === "*")) ||
    [...everyExpression(loop)].some(isOpen),
);

const exactFunctions = new Set(["abs", "ceil", "floor", "round", "trunc", "sign", "min", "max"]);

function isOpen(expression: Expression): boolean {
  if (expression.type !== "f32") return false;
  switch (expression.kind) {
    case "binary":
      return expression.operator !== "%";
    case "call":
      return !exactFunctions.has(expression.callee);
    case "convert":
      return expression.operand.type !== "f32" && expression.operand.kind !== "literal";
    default:
      return false;
  }
}

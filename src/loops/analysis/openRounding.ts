import type { Expression } from "../ir.ts";
import { everyExpression, operandsOf } from "../kernels/walk.ts";
import { oncePerLoop } from "../oncePerLoop.ts";

/**
 * Whether a GPU may compute other bits than the CPU: WGSL leaves it open how f32 arithmetic and conversions to f32 are rounded, whether
 * operations are fused, in which order an f32 reduction adds, and whether an operation, a comparison among them, takes numbers too
 * small to be normal (below 2⁻¹²⁶) for zero. Copies of floats are exact, and so is what looks at their bits: conversions to integers
 * and booleans.
 *
 * Source: WGSL, 15.7.2 "Differences from IEEE-754", 15.7.4 "Floating point accuracy" and 15.7.5 "Reassociation and fusion".
 */
export const hasOpenRounding = oncePerLoop(
  (loop) => loop.reductions.some(({ type }) => type === "f32") || [...everyExpression(loop)].some(isOpen),
);

function isOpen(expression: Expression): boolean {
  const isFloat = ({ type }: Expression) => type === "f32";
  switch (expression.kind) {
    case "unary":
    case "binary":
    case "call":
      return isFloat(expression) || operandsOf(expression).some(isFloat);
    case "convert":
      return isFloat(expression) && !isFloat(expression.operand) && expression.operand.kind !== "literal";
    default:
      return false;
  }
}

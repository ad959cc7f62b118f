import type { LoopExpression } from "../tree/ir.ts";
import { oncePerLoop } from "../tree/oncePerLoop.ts";
import { everyExpression } from "../tree/walk.ts";

/**
 * True if a GPU may compute other bits than the CPU. WGSL does not fix how f32 arithmetic and
 * conversions to f32 are rounded, nor whether operations are fused. It does not fix the order in
 * which an f32 reduction adds, nor whether an operation takes subnormal numbers (below 2⁻¹²⁶) as
 * zero.
 * Copies of floats are exact. So are kernels' operations on their bits: comparisons, remainders,
 * the nearest integers, minima and maxima, conversions to integers and booleans.
 * Source: WGSL, 15.7.2 "Differences from IEEE-754", 15.7.4 "Floating point accuracy" and 15.7.5
 * "Reassociation and fusion".
 */
export const hasOpenRounding = oncePerLoop(
  (loop) =>
    loop.reductions.some(({ type, operator }) => type === "f32" && (operator === "+" || operator === "*")) ||
    [...everyExpression(loop)].some(isOpen),
);

const exactFunctions = new Set(["abs", "ceil", "floor", "round", "trunc", "sign", "min", "max"]);

function isOpen(expression: LoopExpression): boolean {
  if (expression.type !== "f32") return false;
  switch (expression.kind) {
    case "binary":
      return expression.operator !== "%";
    case "call":
      return !exactFunctions.has(expression.callee);
    case "convert":
      return ["i32", "u32"].includes(expression.operand.type) && expression.operand.kind !== "literal";
    default:
      return false;
  }
}

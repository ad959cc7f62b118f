import type { Expression } from "../ir.ts";
import { everyExpression } from "../kernels/walk.ts";
import { oncePerLoop } from "../oncePerLoop.ts";

/** Functions whose results are exact. */
const exactFunctions = new Set(["abs", "ceil", "floor", "trunc", "sign", "min", "max"]);

/**
 * Whether a GPU may compute other bits than the CPU: WGSL leaves it open how f32 arithmetic and conversions to f32 are rounded, whether
 * operations are fused, and in which order an f32 reduction adds. Copies of floats, and comparisons, are exact.
 *
 * Source: WGSL, 15.7.4 "Floating point accuracy" and 15.7.5 "Reassociation and fusion".
 */
export const hasOpenRounding = oncePerLoop((loop) => {
  const isOpenReduction = loop.reductions.some(
    ({ type, operator }) => type === "f32" && operator !== "min" && operator !== "max",
  );
  return isOpenReduction || [...everyExpression(loop)].some(isOpen);
});

function isOpen(expression: Expression): boolean {
  if (expression.type !== "f32") return false;
  switch (expression.kind) {
    case "binary":
      return true;
    case "call":
      return !exactFunctions.has(expression.callee);
    case "convert":
      return expression.operand.type !== "f32" && expression.operand.kind !== "literal";
    default:
      return false;
  }
}

import { resolutionError } from "../../diagnostics/resolution.ts";
import type { Expression } from "../ast.ts";
import { isInteger } from "../typeFamilies.ts";
import { describeType } from "../typeNames.ts";
import { type Context, errorType } from "./context.ts";
import { checkExpression } from "./expressions.ts";

/** Returns the number of elements of an array type, or undefined after an error. */
export function arrayCount(cx: Context, expression: Expression): number | "override" | undefined {
  // The count is evaluated even if the expression around it is not, because a type depends on it.
  const wasEvaluating = cx.evaluating;
  cx.evaluating = true;
  const { type, stage } = checkExpression(cx, expression);
  const concrete = cx.materialize(expression);
  cx.evaluating = wasEvaluating;
  if (type === errorType) return undefined;
  if (!isInteger(concrete)) {
    cx.report(
      resolutionError.wrongType(
        "an element count of type `i32` or `u32`",
        describeType(concrete),
        expression.span,
      ),
    );
    return undefined;
  }
  if (stage === "override") return "override";
  if (stage === "runtime") {
    cx.report(
      resolutionError.notConstant(
        "an array's element count",
        "a const-expression or an override-expression",
        expression.span,
      ),
    );
    return undefined;
  }
  const value = cx.valueOf(expression);
  if (!value || !("value" in value)) {
    if (!cx.hasErrors)
      cx.report(resolutionError.tooLarge("this element count is too costly to evaluate", expression.span));
    return undefined;
  }
  if (Number(value.value) >= 1) return Number(value.value);
  cx.report(resolutionError.badTemplateArgument("a positive element count", undefined, expression.span));
  return undefined;
}

/**
 * Computes the type, evaluation stage and constant value of each value expression. Source: WGSL
 * specification, "Expressions".
 */

import { resolutionError } from "../../diagnostics/resolution.ts";
import type { BinaryExpression, Expression, Identifier, Literal, UnaryExpression } from "../ast.ts";
import { foldBinary, foldUnary, parseLiteral } from "../constants/index.ts";
import { describeType } from "../typeNames.ts";
import { checkIndex, checkMember, isVectorComponent } from "./access.ts";
import { checkCall } from "./calls.ts";
import { type Context, type ExpressionFacts, errorFacts, errorType, runtime } from "./context.ts";
import { applyOverload } from "./overloads.ts";

/** Checks an expression and all its parts, and returns its facts. */
export function factsOf(cx: Context, expression: Expression): ExpressionFacts {
  switch (expression.kind) {
    case "literal":
      return literal(cx, expression);
    case "identifier":
      return identifier(cx, expression);
    case "unary":
      return unary(cx, expression);
    case "binary":
      return binary(cx, expression);
    case "call":
      return checkCall(cx, expression);
    case "index":
      return checkIndex(cx, expression);
    case "memberAccess":
      return checkMember(cx, expression);
  }
}

function literal(cx: Context, { text, span }: Literal): ExpressionFacts {
  const folded = parseLiteral(text);
  if (folded.ok) return { type: folded.value.type, stage: "const", value: folded.value };
  cx.report(resolutionError.notEvaluable(folded.reason, span));
  return errorFacts;
}

function identifier(cx: Context, expression: Identifier): ExpressionFacts {
  const target = cx.targets.get(expression);
  if (!target) return errorFacts;
  switch (target.kind) {
    case "const":
    case "override":
    case "let":
    case "parameter":
    case "var":
    case "globalVariable":
      break;
    default:
      cx.report(resolutionError.wrongKind(expression.name, "a value", expression.span));
      return errorFacts;
  }
  if (expression.templateArgs) {
    cx.report(resolutionError.noTemplate(expression.name, expression.span));
    return errorFacts;
  }
  const type = cx.places.get(target) ?? cx.declared.get(target) ?? errorType;
  if (target.kind === "const") return { type, stage: "const", value: cx.constantValue(target) };
  return { type, stage: target.kind === "override" ? "override" : "runtime", value: undefined };
}

function unary(cx: Context, expression: UnaryExpression): ExpressionFacts {
  const { operator, operand } = expression;
  const { type } = cx.check(operand);
  if (operator === "&") {
    if (type === errorType) return errorFacts;
    if (type.kind !== "reference" || type.space === "handle" || isVectorComponent(cx, operand)) {
      cx.report(
        resolutionError.notAPlace(
          "pointed to",
          "only variables and their members and elements have an address",
          operand.span,
        ),
      );
      return errorFacts;
    }
    return runtime({ ...type, kind: "pointer" });
  }
  if (operator === "*") {
    if (type === errorType) return errorFacts;
    if (type.kind !== "pointer") {
      cx.report(resolutionError.wrongType("a pointer", describeType(cx.loadedType(operand)), operand.span));
      return errorFacts;
    }
    return runtime({ ...type, kind: "reference" });
  }
  return applyOverload(cx, expression, operator, [operand], ([value], type) =>
    foldUnary(operator, value!, type),
  );
}

function binary(cx: Context, expression: BinaryExpression): ExpressionFacts {
  const { operator, left, right } = expression;
  cx.check(left);
  if (operator === "&&" || operator === "||") return shortCircuit(cx, expression);
  cx.check(right);
  return applyOverload(cx, expression, operator, [left, right], ([a, b], type) =>
    foldBinary(operator, a!, b!, type),
  );
}

/**
 * Checks `&&` and `||`. The right operand is evaluated only if the left one does not decide.
 * Source: WGSL specification, "Logical Expressions".
 */
function shortCircuit(cx: Context, expression: BinaryExpression): ExpressionFacts {
  const { operator, left, right } = expression;
  const leftValue = cx.facts.get(left)?.value;
  const decided = leftValue && "value" in leftValue && leftValue.value === (operator === "||");
  const wasEvaluating = cx.evaluating;
  if (decided) cx.evaluating = false;
  cx.check(right);
  const facts = applyOverload(cx, expression, operator, [left, right], ([a, b], type) =>
    foldBinary(operator, a!, b!, type),
  );
  cx.evaluating = wasEvaluating;
  return decided && facts.stage === "const" ? { ...facts, value: leftValue } : facts;
}

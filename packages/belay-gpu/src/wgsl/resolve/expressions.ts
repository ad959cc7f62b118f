/**
 * Computes the type, evaluation stage and constant value of each value expression. Source: WGSL
 * specification, "Expressions".
 */

import { resolutionError } from "../../diagnostics/resolution.ts";
import type { BinaryExpression, Expression, Identifier, Literal, UnaryExpression } from "../ast.ts";
import { type Folded, foldBinary, foldUnary, parseLiteral } from "../constants/index.ts";
import type { EvaluationStage } from "../program.ts";
import { describeType } from "../typeNames.ts";
import { boolType, type Type } from "../types.ts";
import type { Value } from "../values.ts";
import { checkIndex, checkMember, isVectorComponent } from "./access.ts";
import { checkCall } from "./calls.ts";
import { type Context, type ExpressionFacts, errorFacts, errorType, latestStage, loaded } from "./context.ts";
import { selectOverload } from "./overloads.ts";
import { signaturesOf } from "./signatures.ts";

/**
 * Evaluates an expression from its operands' values, or returns undefined if it turns out not to be
 * a const-expression.
 */
type Fold = (values: readonly Value[], type: Type) => Folded | undefined;

/** Checks an expression and all its parts once. */
export function checkExpression(cx: Context, expression: Expression): ExpressionFacts {
  const facts = factsOf(cx, expression);
  cx.facts.set(expression, facts);
  return facts;
}

function factsOf(cx: Context, expression: Expression): ExpressionFacts {
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

export const runtime = (type: Type): ExpressionFacts => ({ type, stage: "runtime", value: undefined });

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
  const { type } = checkExpression(cx, operand);
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
  checkExpression(cx, left);
  if (operator === "&&" || operator === "||") return shortCircuit(cx, expression);
  checkExpression(cx, right);
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
  checkExpression(cx, right);
  const facts = applyOverload(cx, expression, operator, [left, right], ([a, b], type) =>
    foldBinary(operator, a!, b!, type),
  );
  cx.evaluating = wasEvaluating;
  return decided && facts.stage === "const" ? { ...facts, value: leftValue } : facts;
}

/**
 * Resolves the overload of an operator or predeclared function for checked arguments, and evaluates
 * it if possible.
 */
export function applyOverload(
  cx: Context,
  at: Expression,
  name: string,
  args: readonly Expression[],
  fold: Fold,
): ExpressionFacts {
  const facts = args.map((arg) => cx.facts.get(arg) ?? errorFacts);
  const types = facts.map(({ type }) => loaded(type));
  if (types.includes(errorType)) return errorFacts;
  const stage = latestStage(facts.map((each) => each.stage));
  const overload = selectOverload(name, types, stage === "const");
  if (!overload) {
    const candidates = signaturesOf(name).filter(({ parameters }) => parameters.length === args.length);
    const shown = candidates.length > 0 ? candidates : signaturesOf(name);
    const texts = shown.map(({ text }) => text);
    cx.report(resolutionError.noOverload(name, types.map(describeType), texts, at.span));
    return errorFacts;
  }
  cx.convertAll(args, types, overload.parameters);
  if (!overload.signature.isConst) return runtime(overload.result);
  return evaluated(cx, at, overload.result, stage, args, fold);
}

/** Returns the facts of an expression whose operands have their types already. */
export function evaluated(
  cx: Context,
  at: Expression,
  type: Type,
  stage: EvaluationStage,
  operands: readonly Expression[],
  fold: Fold,
): ExpressionFacts {
  if (stage !== "const") return { type, stage, value: undefined };
  const values: Value[] = [];
  for (const operand of operands) {
    const value = cx.valueOf(operand);
    if (!value) return { type, stage, value: undefined };
    values.push(value);
  }
  return { type, stage, value: cx.evaluate(at, type, () => fold(values, type)) };
}

/** Checks an expression that must be a bool. */
export function checkCondition(cx: Context, expression: Expression): void {
  checkExpression(cx, expression);
  const type = cx.loadedType(expression);
  if (type === errorType) return;
  if (type === boolType) cx.convert(expression, boolType);
  else cx.report(resolutionError.wrongType("a `bool`", describeType(type), expression.span));
}

/** Checks statements. Source: WGSL specification, "Statements". */

import { resolutionError } from "../../diagnostics/resolution.ts";
import type { Block, ConstAssert, Expression, ReturnStatement, Statement, SwitchStatement } from "../ast.ts";
import { commonType, concretize } from "../conversion.ts";
import { isInteger } from "../typeFamilies.ts";
import { describeType } from "../typeNames.ts";
import { boolType, type Type, voidType } from "../types.ts";
import { checkAssignment, checkIncrement } from "./assignments.ts";
import { neverEnds } from "./behaviors.ts";
import { type Context, errorType } from "./context.ts";
import { checkConst, checkLet, checkVar, requireStage } from "./variables.ts";

/** The constructs around a statement, to which `return`, `break` and `continue` refer. */
interface Surroundings {
  readonly returnType: Type;
  readonly canBreak: boolean;
  readonly canContinue: boolean;
}

/** Checks a function's body. */
export function checkBody(cx: Context, body: Block, returnType: Type): void {
  checkStatements(cx, body.statements, { returnType, canBreak: false, canContinue: false });
}

function checkStatements(cx: Context, statements: readonly Statement[], around: Surroundings): void {
  for (const statement of statements) checkStatement(cx, statement, around);
}

function checkStatement(cx: Context, statement: Statement, around: Surroundings): void {
  if (neverEnds(statement)) cx.report(resolutionError.endless(statement.span));
  switch (statement.kind) {
    case "block":
      checkStatements(cx, statement.statements, around);
      break;
    case "const":
      checkConst(cx, statement);
      break;
    case "let":
      checkLet(cx, statement);
      break;
    case "var":
      checkVar(cx, statement);
      break;
    case "constAssert":
      checkConstAssert(cx, statement);
      break;
    case "assign":
      checkAssignment(cx, statement);
      break;
    case "increment":
      checkIncrement(cx, statement);
      break;
    case "callStatement":
      cx.check(statement.call);
      break;
    case "if":
      checkCondition(cx, statement.condition);
      checkStatements(cx, statement.then.statements, around);
      if (statement.otherwise) checkStatement(cx, statement.otherwise, around);
      break;
    case "switch":
      checkSwitch(cx, statement, around);
      break;
    case "loop": {
      const inside = { ...around, canBreak: true, canContinue: true };
      checkStatements(cx, statement.body.statements, inside);
      checkStatements(cx, statement.continuing?.statements ?? [], {
        ...around,
        canBreak: false,
        canContinue: false,
      });
      if (statement.breakIf) checkCondition(cx, statement.breakIf);
      break;
    }
    case "for":
      if (statement.initializer) checkStatement(cx, statement.initializer, around);
      if (statement.condition) checkCondition(cx, statement.condition);
      if (statement.update) checkStatement(cx, statement.update, around);
      checkStatements(cx, statement.body.statements, { ...around, canBreak: true, canContinue: true });
      break;
    case "while":
      checkCondition(cx, statement.condition);
      checkStatements(cx, statement.body.statements, { ...around, canBreak: true, canContinue: true });
      break;
    case "break":
      if (!around.canBreak)
        cx.report(resolutionError.misplaced("`break`", "a loop or a switch", statement.span));
      break;
    case "continue":
      if (!around.canContinue)
        cx.report(resolutionError.misplaced("`continue`", "the body of a loop", statement.span));
      break;
    case "return":
      checkReturn(cx, statement, around.returnType);
      break;
  }
}

export function checkConstAssert(cx: Context, { condition }: ConstAssert): void {
  checkCondition(cx, condition);
  if (!requireStage(cx, condition, "the condition of a const_assert", ["const"])) return;
  const value = cx.valueOf(condition);
  if (value && "value" in value && value.value === false)
    cx.report(resolutionError.assertionFailed(condition.span));
}

function checkReturn(cx: Context, statement: ReturnStatement, returnType: Type): void {
  const { value, span } = statement;
  if (!value) {
    if (returnType.kind !== "void") cx.report(resolutionError.noValueReturned(span));
    return;
  }
  cx.check(value);
  if (returnType === errorType) return;
  if (returnType === voidType) cx.report(resolutionError.valueReturned(value.span));
  else cx.convert(value, returnType);
}

/** Checks a `switch`. The selector and all case selectors have one integer type. */
function checkSwitch(cx: Context, statement: SwitchStatement, around: Surroundings): void {
  const cases = statement.clauses.flatMap((clause) =>
    clause.selectors.filter((selector) => selector !== "default"),
  );
  const selectors = [statement.selector, ...cases];
  for (const selector of selectors) cx.check(selector);
  for (const selector of cases) requireStage(cx, selector, "a case selector", ["const"]);
  const types = selectors.map((selector) => cx.loadedType(selector));
  if (!types.includes(errorType)) {
    const type = commonType(types);
    if (type && isInteger(type)) for (const selector of selectors) cx.convert(selector, concretize(type));
    else
      cx.report(
        resolutionError.wrongType(
          "one integer type for the selector and its cases",
          describeType(type ?? types[0]!),
          statement.selector.span,
        ),
      );
  }
  checkSelectors(cx, statement, cases);
  for (const clause of statement.clauses) {
    checkStatements(cx, clause.body.statements, { ...around, canBreak: true });
  }
}

/** Checks the selectors of a `switch`: one default, and each value once. */
function checkSelectors(
  cx: Context,
  { clauses, selector }: SwitchStatement,
  cases: readonly Expression[],
): void {
  const all = clauses.flatMap(({ selectors }) => selectors);
  const defaults = all.length - cases.length;
  if (defaults !== 1) cx.report(resolutionError.defaults(defaults, selector.span));
  const seen = new Set<string>();
  for (const expression of cases) {
    const value = cx.valueOf(expression);
    if (!value || !("value" in value)) continue;
    const text = String(value.value);
    if (seen.has(text)) cx.report(resolutionError.repeatedCase(text, expression.span));
    seen.add(text);
  }
}

/** Checks an expression that must be a bool. */
function checkCondition(cx: Context, expression: Expression): void {
  cx.check(expression);
  const type = cx.loadedType(expression);
  if (type === errorType) return;
  if (type === boolType) cx.convert(expression, boolType);
  else cx.report(resolutionError.wrongType("a `bool`", describeType(type), expression.span));
}

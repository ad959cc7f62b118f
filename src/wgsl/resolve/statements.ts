/** Checks statements (specification section "Statements"). */

import { resolutionError } from "../../diagnostics/resolution.ts";
import type {
  Assignment,
  BinaryOperator,
  Block,
  ConstAssert,
  Expression,
  Increment,
  ReturnStatement,
  Statement,
  SwitchStatement,
} from "../ast.ts";
import { foldBinary } from "../constants/index.ts";
import { commonType, concretize, sameType } from "../conversion.ts";
import { isConstructible, isHandle, isInteger } from "../typeFamilies.ts";
import { describeType } from "../typeNames.ts";
import { type ReferenceType, type Type, voidType } from "../types.ts";
import { neverEnds } from "./behaviors.ts";
import { type Context, errorType } from "./context.ts";
import { applyOverload, checkCondition, checkExpression } from "./expressions.ts";
import { checkConst, checkLet, checkVar, requireStage } from "./variables.ts";

/** Where a statement stands: what `return`, `break` and `continue` refer to. */
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
      checkExpression(cx, statement.call);
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

/** The reference that a statement writes to; reports an expression that cannot be written. */
function checkTarget(cx: Context, target: Expression): ReferenceType | undefined {
  const { type } = checkExpression(cx, target);
  if (type === errorType) return undefined;
  const swizzled = swizzledVector(cx, target);
  const place = type.kind === "reference" ? type : swizzled && { ...swizzled, store: type };
  if (!place) {
    const help = type.kind === "pointer" ? "write `*` before the pointer" : "declare it as `var`";
    cx.report(resolutionError.notAPlace("assigned", help, target.span));
  } else if (place.access === "read") {
    cx.report(resolutionError.notAPlace("assigned", "this memory can only be read", target.span));
  } else if (!isConstructible(place.store)) {
    cx.report(resolutionError.invalidType(describeType(place.store), "assigned", target.span));
  } else {
    return place;
  }
  return undefined;
}

/**
 * The memory of the vector that a target such as `v.xz` or `v.xyz[i]` writes components of; undefined for other targets.
 * Such a target has no reference type (extension `swizzle_assignment`).
 */
function swizzledVector(cx: Context, target: Expression): ReferenceType | undefined {
  if (target.kind !== "memberAccess" && target.kind !== "index") return undefined;
  if (target.kind === "memberAccess" && new Set(target.member).size < target.member.length) return undefined;
  const base = cx.facts.get(target.base)?.type;
  if (base?.kind === "vector") return swizzledVector(cx, target.base);
  const isMemory = base?.kind === "reference" || base?.kind === "pointer";
  return isMemory && base.store.kind === "vector" ? { ...base, kind: "reference" } : undefined;
}

function checkAssignment(cx: Context, statement: Assignment): void {
  const { target, value, operator } = statement;
  if (!target) {
    checkExpression(cx, value);
    checkPhonyValue(cx, value);
    return;
  }
  const place = checkTarget(cx, target);
  checkExpression(cx, value);
  if (!place) return;
  if (operator === "=") {
    cx.convert(value, place.store);
    return;
  }
  const binary = operator.slice(0, -1) as BinaryOperator;
  const { type } = applyOverload(cx, target, binary, [target, value], ([a, b], type) =>
    foldBinary(binary, a!, b!, type),
  );
  if (type !== errorType && !sameType(type, place.store)) {
    cx.report(resolutionError.cannotConvert(describeType(type), describeType(place.store), value.span));
  }
}

/** `_ = value` takes any value and, unlike a declaration, leaves an abstract one as it is. */
function checkPhonyValue(cx: Context, value: Expression): void {
  const type = cx.loadedType(value);
  if (type === errorType) return;
  if (isConstructible(type) || type.kind === "pointer" || isHandle(type)) cx.convert(value, type);
  else cx.report(resolutionError.invalidType(describeType(type), "assigned", value.span));
}

function checkIncrement(cx: Context, statement: Increment): void {
  const place = checkTarget(cx, statement.target);
  if (place && !isInteger(place.store)) {
    cx.report(
      resolutionError.wrongType(
        "a place of type `i32` or `u32`",
        describeType(place.store),
        statement.target.span,
      ),
    );
  }
}

function checkReturn(cx: Context, statement: ReturnStatement, returnType: Type): void {
  const { value, span } = statement;
  if (!value) {
    if (returnType.kind !== "void") cx.report(resolutionError.noValueReturned(span));
    return;
  }
  checkExpression(cx, value);
  if (returnType === errorType) return;
  if (returnType === voidType) cx.report(resolutionError.valueReturned(value.span));
  else cx.convert(value, returnType);
}

/** The selector and all case selectors have one integer type. */
function checkSwitch(cx: Context, statement: SwitchStatement, around: Surroundings): void {
  const cases = statement.clauses.flatMap((clause) =>
    clause.selectors.filter((selector) => selector !== "default"),
  );
  const selectors = [statement.selector, ...cases];
  for (const selector of selectors) checkExpression(cx, selector);
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

/** One clause is the default, and no value has two. */
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

/**
 * Checks declarations of values and variables. Source: WGSL specification, "Variable and Value
 * Declarations".
 */

import { resolutionError } from "../../diagnostics/resolution.ts";
import type {
  ConstDeclaration,
  Expression,
  GlobalVariable,
  LetStatement,
  OverrideDeclaration,
  VarStatement,
} from "../ast.ts";
import type { EvaluationStage } from "../program.ts";
import { isConstructible, isHandle } from "../typeFamilies.ts";
import { describeType } from "../typeNames.ts";
import type { AccessMode, AddressSpace, Type } from "../types.ts";
import { checkAddressSpace } from "./addressSpaces.ts";
import { type Context, errorType } from "./context.ts";
import { checkEnumerant, defaultAccess } from "./enumerants.ts";
import { accessModes, addressSpaces } from "./predeclared.ts";
import { checkType } from "./typeExpressions.ts";

/** Checks a `const`. Without a written type, it keeps an abstract type. */
export function checkConst(cx: Context, declaration: ConstDeclaration): void {
  const { initializer } = declaration;
  const written = declaration.type ? checkType(cx, declaration.type) : undefined;
  cx.check(initializer);
  requireStage(cx, declaration.initializer, "the initializer of a `const`", ["const"]);
  const type = written ?? cx.loadedType(initializer);
  if (written) cx.convert(initializer, written);
  if (type !== errorType && !isConstructible(type)) {
    cx.report(resolutionError.invalidType(describeType(type), "the type of a `const`", initializer.span));
  }
  cx.declared.set(declaration, type);
  cx.constants.set(declaration, cx.valueOf(initializer) ?? "unknown");
}

export function checkOverride(cx: Context, declaration: OverrideDeclaration): void {
  const { initializer } = declaration;
  let type = declaration.type ? checkType(cx, declaration.type) : errorType;
  if (initializer) {
    cx.check(initializer);
    requireStage(cx, initializer, "the initializer of an `override`", ["const", "override"]);
    if (declaration.type) cx.convert(initializer, type);
    else type = cx.materialize(initializer);
  } else if (!declaration.type) {
    cx.report(resolutionError.untyped(declaration.name, declaration.nameSpan));
  }
  if (type !== errorType && type.kind !== "scalar") {
    cx.report(
      resolutionError.invalidType(describeType(type), "the type of an `override`", declaration.nameSpan),
    );
  }
  cx.declared.set(declaration, type);
}

export function checkLet(cx: Context, statement: LetStatement): void {
  const written = statement.type ? checkType(cx, statement.type) : undefined;
  cx.check(statement.initializer);
  if (written) cx.convert(statement.initializer, written);
  const type = written ?? cx.materialize(statement.initializer);
  if (type !== errorType && !isConstructible(type) && type.kind !== "pointer" && !isHandle(type)) {
    cx.report(
      resolutionError.invalidType(describeType(type), "the type of a `let`", statement.initializer.span),
    );
  }
  cx.declared.set(statement, type);
}

/** Checks a function-scope `var`. */
export function checkVar(cx: Context, statement: VarStatement): void {
  for (const qualifier of statement.qualifiers) {
    checkEnumerant(cx, qualifier, new Set(["function"]), "the address space `function`");
  }
  const store = storeType(cx, statement);
  if (store !== errorType && !isConstructible(store)) {
    cx.report(
      resolutionError.invalidType(
        describeType(store),
        "the type of a variable in a function",
        statement.nameSpan,
      ),
    );
  }
  place(cx, statement, "function", store, "read_write");
}

/** Checks a module-scope `var`. */
export function checkGlobalVariable(cx: Context, declaration: GlobalVariable): void {
  const [spaceWord, accessWord] = declaration.qualifiers;
  const space = spaceWord && checkEnumerant(cx, spaceWord, addressSpaces, "an address space");
  const access = accessWord && checkEnumerant(cx, accessWord, accessModes, "an access mode");
  const store = storeType(cx, declaration);
  if (declaration.initializer) {
    requireStage(cx, declaration.initializer, "the initializer of a module-scope variable", [
      "const",
      "override",
    ]);
  }
  if (store === errorType || (spaceWord && !space) || (accessWord && !access)) {
    cx.declared.set(declaration, store);
    return;
  }
  const actualSpace = (space ?? (isHandle(store) ? "handle" : "private")) as AddressSpace;
  if (!space && !isHandle(store)) {
    cx.report(resolutionError.noAddressSpace(declaration.name, declaration.nameSpan));
  } else {
    checkAddressSpace(cx, declaration, actualSpace, store);
  }
  place(
    cx,
    declaration,
    actualSpace,
    store,
    (access as AccessMode | undefined) ?? defaultAccess(actualSpace),
  );
}

function storeType(cx: Context, declaration: VarStatement | GlobalVariable): Type {
  const { type: typeExpression, initializer } = declaration;
  const written = typeExpression ? checkType(cx, typeExpression) : undefined;
  if (!initializer) {
    if (!written) {
      cx.report(resolutionError.untyped(declaration.name, declaration.nameSpan));
    }
    return written ?? errorType;
  }
  cx.check(initializer);
  if (!written) return cx.materialize(initializer);
  cx.convert(initializer, written);
  return written;
}

function place(
  cx: Context,
  declaration: VarStatement | GlobalVariable,
  space: AddressSpace,
  store: Type,
  access: AccessMode,
): void {
  cx.declared.set(declaration, store);
  if (store !== errorType) cx.places.set(declaration, { kind: "reference", space, store, access });
}

/** Reports an expression that is evaluated too late for its use. */
export function requireStage(
  cx: Context,
  expression: Expression,
  what: string,
  stages: readonly EvaluationStage[],
): boolean {
  if (cx.loadedType(expression) === errorType || stages.includes(cx.stageOf(expression))) return true;
  const needed = stages.includes("override")
    ? "a const-expression or an override-expression"
    : "a const-expression";
  cx.report(resolutionError.notConstant(what, needed, expression.span));
  return false;
}

/**
 * Checks indexing, members and swizzles. Source: WGSL specification, "Composite Value Decomposition
 * Expressions".
 */

import { resolutionError } from "../../diagnostics/resolution.ts";
import type { Expression, IndexExpression, MemberExpression } from "../ast.ts";
import { foldIndex, foldMember } from "../constants/index.ts";
import { isAbstract, vectorType } from "../conversion.ts";
import { isInteger } from "../typeFamilies.ts";
import { describeType } from "../typeNames.ts";
import type { ReferenceType, Type } from "../types.ts";
import {
  type Context,
  type ExpressionFacts,
  errorFacts,
  errorType,
  latestStage,
  referenceInto,
  runtime,
} from "./context.ts";
import { evaluated } from "./overloads.ts";
import { similarName } from "./suggest.ts";

/**
 * Returns the memory that an expression of reference or pointer type denotes, or undefined for a
 * plain value.
 */
function viewed(type: Type): ReferenceType | undefined {
  if (type.kind === "reference") return type;
  return type.kind === "pointer" ? { ...type, kind: "reference" } : undefined;
}

export function checkIndex(cx: Context, expression: IndexExpression): ExpressionFacts {
  const { base, index } = expression;
  const baseFacts = cx.check(base);
  const indexStage = cx.check(index).stage;
  const indexType = cx.materialize(index);
  if (indexType !== errorType && !isInteger(indexType)) {
    cx.report(
      resolutionError.wrongType("an index of type `i32` or `u32`", describeType(indexType), index.span),
    );
  }
  if (baseFacts.type === errorType) return errorFacts;
  const view = viewed(baseFacts.type);
  // The elements of an abstract value have no type at run time.
  if (!view && indexStage !== "const" && isAbstract(baseFacts.type)) cx.materialize(base);
  const composite = view ? view.store : (cx.facts.get(base)?.converted ?? baseFacts).type;
  const parts = partsOf(composite);
  if (!parts) {
    cx.report(resolutionError.notIndexable(describeType(composite), base.span));
    return errorFacts;
  }
  const at = constantIndex(cx, index, parts.count);
  if (at === "out of bounds") return errorFacts;
  if (view) return runtime(referenceInto(view, parts.element));
  cx.convert(base, composite);
  const stage = latestStage([baseFacts.stage, indexStage]);
  if (at === undefined) return { type: parts.element, stage, value: undefined };
  return evaluated(cx, expression, parts.element, stage, [base], ([value]) => foldIndex(value!, at));
}

function partsOf(type: Type): { element: Type; count: number | undefined } | undefined {
  switch (type.kind) {
    case "vector":
      return { element: type.element, count: type.size };
    case "matrix":
      return { element: vectorType(type.rows, type.element), count: type.columns };
    case "bindingArray":
      return { element: type.element, count: type.count };
    case "array":
      return { element: type.element, count: typeof type.count === "number" ? type.count : undefined };
    default:
      return undefined;
  }
}

/** Returns the value of a constant index, and reports it if it is out of bounds. */
function constantIndex(
  cx: Context,
  index: Expression,
  count: number | undefined,
): number | undefined | "out of bounds" {
  const value = cx.valueOf(index);
  if (!value || !("value" in value) || typeof value.value === "boolean") return undefined;
  const at = Number(value.value);
  if (at >= 0 && at < (count ?? Number.POSITIVE_INFINITY)) return at;
  cx.report(resolutionError.outOfBounds(at, count, index.span));
  return "out of bounds";
}

export function checkMember(cx: Context, expression: MemberExpression): ExpressionFacts {
  const { base, member } = expression;
  const baseFacts = cx.check(base);
  if (baseFacts.type === errorType) return errorFacts;
  const view = viewed(baseFacts.type);
  const composite = view ? view.store : baseFacts.type;
  const type = memberType(composite, member);
  if (!type) {
    const names = composite.kind === "struct" ? composite.members.map(({ name }) => name) : [];
    cx.report(
      resolutionError.noMember(member, describeType(composite), similarName(member, names), expression.span),
    );
    return errorFacts;
  }
  // A swizzle of several components is a value: it loads the vector.
  if (view)
    return runtime(composite.kind === "vector" && member.length > 1 ? type : referenceInto(view, type));
  cx.convert(base, composite);
  return evaluated(cx, expression, type, baseFacts.stage, [base], ([value]) => foldMember(value!, member));
}

function memberType(composite: Type, member: string): Type | undefined {
  if (composite.kind === "struct") return composite.members.find(({ name }) => name === member)?.type;
  if (composite.kind !== "vector") return undefined;
  if (!isSwizzle(member, composite.size)) return undefined;
  return member.length === 1 ? composite.element : vectorType(member.length, composite.element);
}

/** Returns true if a member name selects components: one to four letters of `xyzw` or of `rgba`. */
function isSwizzle(member: string, size: number): boolean {
  if (member.length < 1 || member.length > 4) return false;
  return ["xyzw", "rgba"].some((letters) =>
    [...member].every((letter) => letters.slice(0, size).includes(letter)),
  );
}

/**
 * Returns true if an expression selects a component of a vector in memory. No pointer can point to
 * it.
 */
export function isVectorComponent(cx: Context, expression: Expression): boolean {
  if (expression.kind !== "index" && expression.kind !== "memberAccess") return false;
  const type = cx.facts.get(expression.base)?.type;
  return type !== undefined && viewed(type)?.store.kind === "vector";
}

/**
 * Checks statements that write to memory. Source: WGSL specification, "Assignment Statement" and
 * "Increment and Decrement Statements".
 */
import { resolutionError } from "../../diagnostics/resolution.ts";
import type { Assignment, BinaryOperator, Expression, Increment } from "../ast.ts";
import { foldBinary } from "../constants/index.ts";
import { sameType } from "../conversion.ts";
import { isConstructible, isHandle, isInteger } from "../typeFamilies.ts";
import { describeType } from "../typeNames.ts";
import type { ReferenceType } from "../types.ts";
import { type Context, errorType } from "./context.ts";
import { applyOverload } from "./overloads.ts";

export function checkAssignment(cx: Context, statement: Assignment): void {
  const { target, value, operator } = statement;
  if (!target) {
    cx.check(value);
    checkPhonyValue(cx, value);
    return;
  }
  const place = checkTarget(cx, target);
  cx.check(value);
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

export function checkIncrement(cx: Context, statement: Increment): void {
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

/** Checks the value of `_ = value`. Unlike a declaration, it leaves an abstract value as it is. */
function checkPhonyValue(cx: Context, value: Expression): void {
  const type = cx.loadedType(value);
  if (type === errorType) return;
  if (isConstructible(type) || type.kind === "pointer" || isHandle(type)) cx.convert(value, type);
  else cx.report(resolutionError.invalidType(describeType(type), "assigned", value.span));
}

/**
 * Returns the reference that a statement writes to, and reports a target that cannot be written.
 */
function checkTarget(cx: Context, target: Expression): ReferenceType | undefined {
  const { type } = cx.check(target);
  if (type === errorType) return undefined;
  const swizzled = swizzledVector(cx, target);
  const place = type.kind === "reference" ? type : swizzled && { ...swizzled, store: type };
  if (!place) {
    const help =
      type.kind === "pointer"
        ? "write `*` before the pointer"
        : "only variables that are declared with `var` can be assigned to";
    cx.report(resolutionError.notAPlace("assigned to", help, target.span));
  } else if (place.access === "read") {
    cx.report(
      resolutionError.notAPlace(
        "assigned to",
        "this memory can only be read; a storage buffer needs the access `read_write`",
        target.span,
      ),
    );
  } else if (!isConstructible(place.store)) {
    cx.report(resolutionError.invalidType(describeType(place.store), "assigned", target.span));
  } else {
    return place;
  }
  return undefined;
}

/**
 * Returns the memory of the vector whose components a target such as `v.xz` or `v.xyz[i]` writes,
 * or undefined for other targets. Such a target has no reference type (extension
 * `swizzle_assignment`).
 */
function swizzledVector(cx: Context, target: Expression): ReferenceType | undefined {
  if (target.kind !== "memberAccess" && target.kind !== "index") return undefined;
  if (target.kind === "memberAccess" && new Set(target.member).size < target.member.length) return undefined;
  const base = cx.facts.get(target.base)?.type;
  if (base?.kind === "vector") return swizzledVector(cx, target.base);
  const isMemory = base?.kind === "reference" || base?.kind === "pointer";
  return isMemory && base.store.kind === "vector" ? { ...base, kind: "reference" } : undefined;
}

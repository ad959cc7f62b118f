import type { ScalarType, Type } from "../types.ts";
import type { ScalarValue, Value } from "../values.ts";
import { composite, elementType, isComposite } from "./components.ts";
import { type Folded, folded, noValue } from "./folded.ts";
import { bool, floatInRange, integer, isFloat, wrappedInteger } from "./scalars.ts";

/**
 * Converts a value as an expression's context does (specification section "Conversion Rank"): abstract
 * numbers to `to`, component by component. A value of a concrete type is already of type `to`.
 */
export function convert(value: Value, to: Type): Folded {
  return folded(() => converted(value, to));
}

/** `convert`, for use within an evaluation. */
export function converted(value: Value, to: Type): Value {
  if (!isAbstract(value.type)) {
    if (value.type.kind === "scalar" && (to.kind !== "scalar" || to.name !== value.type.name)) {
      noValue(`no automatic conversion from ${value.type.name}`);
    }
    return value;
  }
  if ("elements" in value) {
    if (!isComposite(to)) return noValue(`no automatic conversion from a ${value.type.kind}`);
    return composite(
      to,
      value.elements.map((element, i) => converted(element, elementType(to, i))),
    );
  }
  if (to.kind !== "scalar" || to.name === "bool" || (isFloat(value.type) && !isFloat(to))) {
    return noValue(`no automatic conversion from ${value.type.name}`);
  }
  return cast(value, to);
}

/** Whether a type is or contains an abstract numeric type. */
function isAbstract(type: Type): boolean {
  switch (type.kind) {
    case "scalar":
      return type.name === "abstract-int" || type.name === "abstract-float";
    case "vector":
    case "matrix":
    case "array":
      return isAbstract(type.element);
    case "struct":
      return type.declaration === undefined && type.members.some((member) => isAbstract(member.type));
    default:
      return false;
  }
}

/** The scalar constructors `bool`, `i32`, `u32`, `f32` and `f16`; abstract types convert in the same way. */
export function cast(from: ScalarValue, to: ScalarType): ScalarValue {
  const { type, value } = from;
  if (type.name === to.name) return from;
  if (to.name === "bool") return bool(Number(value) !== 0);
  if (isFloat(to)) return floatInRange(to, Number(value));
  if (isFloat(type)) return integer(to, truncateInto(to, Number(value), type));
  return type.name === "abstract-int" ? integer(to, BigInt(value)) : wrappedInteger(to, BigInt(value));
}

/** Section "Floating Point Conversion": the nearest integer toward zero that both types can represent. */
function truncateInto(to: ScalarType, x: number, from: ScalarType): bigint {
  const [low, end] = to.name === "u32" ? [0, 2 ** 32] : [-(2 ** 31), 2 ** 31];
  const lastPlace = from.name === "f32" ? end * 2 ** -24 : 1;
  return BigInt(Math.trunc(Math.min(Math.max(x, low), end - lastPlace)));
}

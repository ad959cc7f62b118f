import { conversionRank, sameType } from "../conversion.ts";
import type { ScalarType, Type } from "../types.ts";
import type { ScalarValue, Value } from "../values.ts";
import { composite, elementType, isComposite } from "./components.ts";
import { type Folded, folded, noValue } from "./folded.ts";
import { bool, floatInRange, integer, isFloat, wrappedInteger } from "./scalars.ts";

/**
 * Converts a value as its context requires: abstract numbers to `to`, by component. Source: WGSL
 * specification, "Conversion Rank".
 */
export function convert(value: Value, to: Type): Folded {
  return folded(() => converted(value, to));
}

/** Converts a value inside another evaluation. */
export function converted(value: Value, to: Type): Value {
  if (sameType(value.type, to)) return value;
  if (!Number.isFinite(conversionRank(value.type, to)))
    noValue("no automatic conversion to the expected type");
  return convertParts(value, to);
}

function convertParts(value: Value, to: Type): Value {
  if (!("elements" in value)) return to.kind === "scalar" ? cast(value, to) : value;
  if (!isComposite(to)) return value;
  return composite(
    to,
    value.elements.map((element, i) => convertParts(element, elementType(to, i))),
  );
}

/**
 * Evaluates the scalar constructors `bool`, `i32`, `u32`, `f32` and `f16`. Abstract types convert
 * in the same way.
 */
export function cast(from: ScalarValue, to: ScalarType): ScalarValue {
  const { type, value } = from;
  if (type.name === to.name) return from;
  if (to.name === "bool") return bool(Number(value) !== 0);
  if (isFloat(to)) return floatInRange(to, Number(value));
  if (isFloat(type)) return integer(to, truncateInto(to, Number(value), type));
  return type.name === "abstract-int" ? integer(to, BigInt(value)) : wrappedInteger(to, BigInt(value));
}

/**
 * Returns the nearest integer towards zero that both types can represent. Source: WGSL
 * specification, "Floating Point Conversion".
 */
function truncateInto(to: ScalarType, x: number, from: ScalarType): bigint {
  const [low, end] = to.name === "u32" ? [0, 2 ** 32] : [-(2 ** 31), 2 ** 31];
  const lastPlace = from.name === "f32" ? end * 2 ** -24 : 1;
  return BigInt(Math.trunc(Math.min(Math.max(x, low), end - lastPlace)));
}

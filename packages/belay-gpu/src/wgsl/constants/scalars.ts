/** Reads scalar values, and constructs them within the range of their type. */
import { boolType, type ScalarType } from "../types.ts";
import type { ScalarValue, Value } from "../values.ts";
import { maxHalf, roundToHalf } from "./float16.ts";
import { noValue } from "./folded.ts";

export function isFloat(type: ScalarType): boolean {
  return type.name === "f32" || type.name === "f16" || type.name === "abstract-float";
}

/** Returns `exact` reduced to the width of an integer type, as concrete integer arithmetic does. */
function wrap(type: ScalarType, exact: bigint): bigint {
  if (type.name === "u32") return BigInt.asUintN(32, exact);
  return BigInt.asIntN(type.name === "i32" ? 32 : 64, exact);
}

export function bool(value: boolean): ScalarValue {
  return { type: boolType, value };
}

/** Returns the integer `exact` in `type`, or an error if it is out of range. */
export function integer(type: ScalarType, exact: bigint): ScalarValue {
  if (wrap(type, exact) !== exact) noValue(`value overflows ${type.name}`);
  return { type, value: type.name === "abstract-int" ? exact : Number(exact) };
}

/** Returns the integer `exact` in `type`, modulo two to the power of the type's width. */
export function wrappedInteger(type: ScalarType, exact: bigint): ScalarValue {
  return integer(type, wrap(type, exact));
}

/** Returns a 32-bit pattern as i32 or u32. */
export function integerFromBits(type: ScalarType, bits: number): ScalarValue {
  return { type, value: type.name === "i32" ? bits | 0 : bits >>> 0 };
}

function roundTo(type: ScalarType, x: number): number {
  if (type.name === "f32") return Math.fround(x);
  return type.name === "f16" ? roundToHalf(x) : x;
}

/**
 * Returns `x` rounded to a float type, or an error if the result is not finite. Source: WGSL
 * specification, "Differences from IEEE-754".
 */
export function finite(type: ScalarType, x: number): number {
  const rounded = roundTo(type, x);
  return Number.isFinite(rounded) ? rounded : noValue("result is not finite");
}

/** Returns the result of a floating-point operation. */
export function float(type: ScalarType, x: number): ScalarValue {
  return { type, value: finite(type, x) };
}

const maxFloat32 = (2 - 2 ** -23) * 2 ** 127;

/** Converts a number to a float type. Any number outside the finite range is an error. */
export function floatInRange(type: ScalarType, x: number): ScalarValue {
  const limit = type.name === "f32" ? maxFloat32 : type.name === "f16" ? maxHalf : Number.MAX_VALUE;
  if (!(Math.abs(x) <= limit)) noValue(`value overflows ${type.name}`);
  return float(type, x);
}

/** Returns the scalar in `value`. Throws for a composite, a defect of the caller. */
export function scalar(value: Value | undefined): ScalarValue {
  if (value === undefined || "elements" in value) throw new TypeError("expected a scalar value");
  return value;
}

/** Returns the value of a numeric scalar as a number. */
export function numberOf(value: Value | undefined): number {
  return Number(scalar(value).value);
}

/** Returns the exact value of an integer of any type. */
export function integerOf(value: Value | undefined): bigint {
  return BigInt(scalar(value).value);
}

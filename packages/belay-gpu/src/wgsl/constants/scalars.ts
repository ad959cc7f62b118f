/** Scalar values: reading them, and making them within the range of their type. */
import { boolType, type ScalarType } from "../types.ts";
import type { ScalarValue, Value } from "../values.ts";
import { maxHalf, roundToHalf } from "./float16.ts";
import { noValue } from "./folded.ts";

export function isFloat(type: ScalarType): boolean {
  return type.name === "f32" || type.name === "f16" || type.name === "abstract-float";
}

/** `exact` reduced to the width of an integer type, as concrete integer arithmetic does. */
function wrap(type: ScalarType, exact: bigint): bigint {
  if (type.name === "u32") return BigInt.asUintN(32, exact);
  return BigInt.asIntN(type.name === "i32" ? 32 : 64, exact);
}

export function bool(value: boolean): ScalarValue {
  return { type: boolType, value };
}

/** The integer `exact` in `type`; an error when it is out of range. */
export function integer(type: ScalarType, exact: bigint): ScalarValue {
  if (wrap(type, exact) !== exact) noValue(`value overflows ${type.name}`);
  return { type, value: type.name === "abstract-int" ? exact : Number(exact) };
}

/** The integer `exact` in `type`, modulo two to the width of the type. */
export function wrappedInteger(type: ScalarType, exact: bigint): ScalarValue {
  return integer(type, wrap(type, exact));
}

/** A 32-bit pattern as i32 or u32. */
export function integerFromBits(type: ScalarType, bits: number): ScalarValue {
  return { type, value: type.name === "i32" ? bits | 0 : bits >>> 0 };
}

function roundTo(type: ScalarType, x: number): number {
  if (type.name === "f32") return Math.fround(x);
  return type.name === "f16" ? roundToHalf(x) : x;
}

/**
 * `x` rounded to a float type; an error when that is not finite (section "Differences from
 * IEEE-754").
 */
export function finite(type: ScalarType, x: number): number {
  const rounded = roundTo(type, x);
  return Number.isFinite(rounded) ? rounded : noValue("result is not finite");
}

/** The result of a floating-point operation. */
export function float(type: ScalarType, x: number): ScalarValue {
  return { type, value: finite(type, x) };
}

const maxFloat32 = (2 - 2 ** -23) * 2 ** 127;

/**
 * The conversion of a number to a float type: an error outside its finite range, however little.
 */
export function floatInRange(type: ScalarType, x: number): ScalarValue {
  const limit = type.name === "f32" ? maxFloat32 : type.name === "f16" ? maxHalf : Number.MAX_VALUE;
  if (!(Math.abs(x) <= limit)) noValue(`value overflows ${type.name}`);
  return float(type, x);
}

/** The scalar in `value`. A composite here is a defect of the caller. */
export function scalar(value: Value | undefined): ScalarValue {
  if (value === undefined || "elements" in value) throw new TypeError("expected a scalar value");
  return value;
}

/** The value of a numeric scalar, as a number. */
export function numberOf(value: Value | undefined): number {
  return Number(scalar(value).value);
}

/** The exact value of an integer of any type. */
export function integerOf(value: Value | undefined): bigint {
  return BigInt(scalar(value).value);
}

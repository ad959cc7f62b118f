import {
  abstractFloatType,
  abstractIntType,
  f16Type,
  f32Type,
  i32Type,
  type ScalarType,
  u32Type,
} from "../types.ts";
import type { ScalarValue } from "../values.ts";
import { scale } from "./float64.ts";
import { type Folded, folded, noValue } from "./folded.ts";
import { bool, floatInRange, integer } from "./scalars.ts";

const integerPattern = /^(0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)([iu]?)$/;
const decimalFloatPattern = /^(?=.*[.eEfh])((?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)([fh]?)$/;
const hexFloatPattern =
  /^0[xX](?=\.?[0-9a-fA-F])([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?(?:[pP]([+-]?[0-9]+)([fh]?))?$/;

/** Returns the value of a literal token. Source: WGSL specification, "Literals". */
export function parseLiteral(text: string): Folded {
  return folded(() => {
    if (text === "true" || text === "false") return bool(text === "true");
    const whole = integerPattern.exec(text);
    if (whole !== null) return integerLiteral(whole[1]!, whole[2]!);
    const decimal = decimalFloatPattern.exec(text);
    if (decimal !== null) return floatInRange(floatTypeOf(decimal[2]!), Number(decimal[1]));
    const hex = hexFloatPattern.exec(text);
    if (hex !== null) return hexFloatLiteral(hex[1]!, hex[2] ?? "", hex[3] ?? "0", hex[4] ?? "");
    return noValue("not a literal");
  });
}

function integerLiteral(digits: string, suffix: string): ScalarValue {
  const type = suffix === "i" ? i32Type : suffix === "u" ? u32Type : abstractIntType;
  // No type has more than 20 significant digits, and converting a long decimal text takes quadratic
  // time.
  if (digits.replace(/^0[xX]0*/, "").length > 20) noValue(`value overflows ${type.name}`);
  return integer(type, BigInt(digits));
}

function floatTypeOf(suffix: string): ScalarType {
  return suffix === "f" ? f32Type : suffix === "h" ? f16Type : abstractFloatType;
}

function hexFloatLiteral(
  wholeDigits: string,
  fractionDigits: string,
  power: string,
  suffix: string,
): ScalarValue {
  const type = floatTypeOf(suffix);
  const significand = BigInt(`0x${wholeDigits}${fractionDigits}`);
  if (significand === 0n) return floatInRange(type, 0);
  const exponent = Number(power) - 4 * fractionDigits.length;
  const width = significand.toString(2).length;
  if (exponent + width > 1024) noValue(`value overflows ${type.name}`);
  // The number of bits below a double's last place, which are rounded to nearest even.
  const excess = Math.min(Math.max(width - 53, -1074 - exponent, 0), width + 1);
  const value = scale(Number(roundOff(significand, excess)), exponent + excess);
  const inexact = BigInt.asUintN(excess, significand) !== 0n;
  const rounded = floatInRange(type, value);
  if (suffix !== "" && (inexact || rounded.value !== value))
    noValue(`value is not exactly representable in ${type.name}`);
  return rounded;
}

/** Returns `value / 2**count`, rounded to the nearest integer, ties to even. */
function roundOff(value: bigint, count: number): bigint {
  if (count === 0) return value;
  const shift = BigInt(count);
  const half = 1n << (shift - 1n);
  const quotient = value >> shift;
  const rest = value - (quotient << shift);
  return rest > half || (rest === half && (quotient & 1n) === 1n) ? quotient + 1n : quotient;
}

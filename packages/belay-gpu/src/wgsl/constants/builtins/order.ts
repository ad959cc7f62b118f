/**
 * Evaluates the numeric built-in functions that only compare and negate, for integers and floats.
 */
import type { ScalarType } from "../../types.ts";
import type { ScalarValue } from "../../values.ts";
import type { ScalarOperation } from "../components.ts";
import { noValue } from "../folded.ts";
import { float, integer, integerOf, isFloat, numberOf, wrappedInteger } from "../scalars.ts";

const min = (a: ScalarValue, b: ScalarValue): ScalarValue => (b.value < a.value ? b : a);
const max = (a: ScalarValue, b: ScalarValue): ScalarValue => (a.value < b.value ? b : a);
const numeral = (type: ScalarType, value: number): ScalarValue =>
  isFloat(type) ? float(type, value) : integer(type, BigInt(value));

function clamp(e: ScalarValue, low: ScalarValue, high: ScalarValue): ScalarValue {
  return low.value > high.value
    ? noValue("clamp's low bound is greater than its high bound")
    : min(max(e, low), high);
}

export const orderFunctions: Readonly<Record<string, ScalarOperation>> = {
  abs: ([e], type) => {
    if (isFloat(type)) return float(type, Math.abs(numberOf(e)));
    // The absolute value of the lowest integer is that integer.
    const exact = integerOf(e);
    return wrappedInteger(type, exact < 0n ? -exact : exact);
  },
  clamp: ([e, low, high]) => clamp(e!, low!, high!),
  max: ([a, b]) => max(a!, b!),
  min: ([a, b]) => min(a!, b!),
  saturate: ([e], type) => clamp(e!, numeral(type, 0), numeral(type, 1)),
  sign: ([e], type) => numeral(type, Math.sign(numberOf(e))),
  step: ([edge, x], type) => numeral(type, edge!.value <= x!.value ? 1 : 0),
};

/**
 * Evaluates the numeric built-in functions that only compare and negate, for integers and floats,
 * and the functions of the WGSL specification's section "Logical Built-in Functions".
 */
import type { ScalarType } from "../../types.ts";
import type { ScalarValue } from "../../values.ts";
import { componentwise, type ScalarOperation, scalars } from "../components.ts";
import { type ConstantFunction, noValue } from "../folded.ts";
import { bool, float, integer, integerOf, isFloat, numberOf, wrappedInteger } from "../scalars.ts";

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

export const logicalFunctions: Readonly<Record<string, ConstantFunction>> = {
  all: ([e]) => bool(scalars(e!).every(({ value }) => value)),
  any: ([e]) => bool(scalars(e!).some(({ value }) => value)),
  select: (args, type) => componentwise(type, args, ([f, t, condition]) => (condition!.value ? t! : f!)),
};

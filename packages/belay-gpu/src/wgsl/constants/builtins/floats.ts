/**
 * Evaluates the component-wise floating-point functions. Source: WGSL specification, "Numeric
 * Built-in Functions".
 */
import type { ScalarType, Type } from "../../types.ts";
import { componentwise, composite, type ScalarOperation } from "../components.ts";
import { maxHalf, roundToHalf } from "../float16.ts";
import { exponentOf, scale } from "../float64.ts";
import { type ConstantFunction, noValue } from "../folded.ts";
import { finite, float, integer, numberOf } from "../scalars.ts";

/** The functions of one number that are computed in double precision and rounded once. */
const rounded: Readonly<Record<string, (x: number) => number>> = {
  acos: Math.acos,
  acosh: Math.acosh,
  asin: Math.asin,
  asinh: Math.asinh,
  atan: Math.atan,
  atanh: Math.atanh,
  ceil: Math.ceil,
  cos: Math.cos,
  cosh: Math.cosh,
  exp: Math.exp,
  exp2: (x) => 2 ** x,
  floor: Math.floor,
  fract: (x) => x - Math.floor(x),
  inverseSqrt: (x) => 1 / Math.sqrt(x),
  log: Math.log,
  log2: Math.log2,
  round: roundToEven,
  sin: Math.sin,
  sinh: Math.sinh,
  sqrt: Math.sqrt,
  tan: Math.tan,
  tanh: Math.tanh,
  trunc: Math.trunc,
};

/** The scalar domains that the specification restricts. */
const domains: Readonly<Record<string, readonly [low: number, high: number]>> = {
  acos: [-1, 1],
  acosh: [1, Infinity],
  asin: [-1, 1],
  atanh: [-1, 1],
  inverseSqrt: [0, Infinity],
  log: [0, Infinity],
  log2: [0, Infinity],
  sqrt: [0, Infinity],
};

function roundToEven(x: number): number {
  return Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x);
}

function unary([name, compute]: [string, (x: number) => number]): [string, ScalarOperation] {
  const [low, high] = domains[name] ?? [-Infinity, Infinity];
  return [
    name,
    ([e], type) => {
      const x = numberOf(e);
      if (x < low || x > high) noValue(`argument of ${name} is outside its domain`);
      return float(type, compute(x));
    },
  ];
}

/** A formula over numbers that calls `round` after each operation. */
type Formula = (round: (x: number) => number, ...x: number[]) => number;

const formulas: Readonly<Record<string, Formula>> = {
  atan2: (_, y = 0, x = 0) => Math.atan2(y, x),
  degrees: (round, x = 0) => x * round(180 / Math.PI),
  fma: (round, a = 0, b = 0, c = 0) => round(a * b) + c,
  mix: (round, a = 0, b = 0, t = 0) => round(a * round(1 - t)) + round(b * t),
  pow: (_, x = 0, y = 0) => (x < 0 ? noValue("argument of pow is outside its domain") : x ** y),
  quantizeToF16: (_, x = 0) => (Math.abs(x) > maxHalf ? noValue("value overflows f16") : roundToHalf(x)),
  radians: (round, x = 0) => x * round(Math.PI / 180),
  smoothstep: (round, low = 0, high = 0, x = 0) => {
    if (low === high) noValue("the edges of smoothstep are equal");
    const position = round(round(x - low) / round(high - low));
    const t = Math.min(Math.max(position, 0), 1);
    return round(t * t) * round(3 - round(2 * t));
  },
};

function byFormula([name, formula]: [string, Formula]): [string, ScalarOperation] {
  return [
    name,
    (args, type) =>
      float(
        type,
        formula((x) => finite(type, x), ...args.map(numberOf)),
      ),
  ];
}

const exponentBias: Partial<Record<ScalarType["name"], number>> = {
  f16: 15,
  f32: 127,
  "abstract-float": 1023,
};

const ldexp: ScalarOperation = ([e, power], type) => {
  const exponent = numberOf(power);
  if (exponent > exponentBias[type.name]! + 1) noValue("exponent of ldexp is too large");
  return float(type, scale(numberOf(e), exponent));
};

export const floatFunctions: Readonly<Record<string, ScalarOperation>> = {
  ...Object.fromEntries(Object.entries(rounded).map(unary)),
  ...Object.fromEntries(Object.entries(formulas).map(byFormula)),
  ldexp,
};

/** Returns the exponent of `frexp`, whose fraction is in [0.5, 1). */
const frexpExponent = (x: number): number => (x === 0 ? 0 : exponentOf(x) + 1);

/** Returns a function whose result struct holds one component-wise result per member. */
function splitting(parts: Readonly<Record<string, ScalarOperation>>): ConstantFunction {
  return (args, type: Type) => {
    if (type.kind !== "struct") throw new TypeError("expected a result struct");
    return composite(
      type,
      type.members.map((member) => componentwise(member.type, args, parts[member.name]!)),
    );
  };
}

export const splittingFunctions: Readonly<Record<string, ConstantFunction>> = {
  frexp: splitting({
    fract: ([e], type) => float(type, scale(numberOf(e), -frexpExponent(numberOf(e)))),
    exp: ([e], type) => integer(type, BigInt(frexpExponent(numberOf(e)))),
  }),
  modf: splitting({
    fract: ([e], type) => float(type, numberOf(e) - Math.trunc(numberOf(e))),
    whole: ([e], type) => float(type, Math.trunc(numberOf(e))),
  }),
};

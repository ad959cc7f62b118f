/**
 * Floating-point arithmetic that rounds each operation to the nearest number and fuses none. It is
 * one of the behaviors that WGSL allows, and so compares two texts of one kernel exactly.
 */
import type { FloatFormat } from "./floatFormat.ts";
import { type intervalArithmetic, roundToEven, scaled } from "./intervals.ts";

/** Returns the operations on numbers of one format. Each returns its result. */
export function nearestArithmetic({ round, fromBits, toBits }: FloatFormat) {
  const rounded = (at: (x: number) => number) => (x: number) => round(at(x));
  const same = (x: number) => x;
  return {
    add: (a: number, b: number) => round(a + b),
    sub: (a: number, b: number) => round(a - b),
    mul: (a: number, b: number) => round(a * b),
    div: (a: number, b: number) => round(a / b),
    neg: (x: number) => -x,
    abs: Math.abs,
    min: Math.min,
    max: Math.max,
    sign: Math.sign,
    floor: Math.floor,
    ceil: Math.ceil,
    trunc: Math.trunc,
    round: roundToEven,
    fract: (x: number) => round(x - Math.floor(x)),
    sqrt: rounded(Math.sqrt),
    inverseSqrt: rounded((x) => 1 / Math.sqrt(x)),
    exp: rounded(Math.exp),
    exp2: rounded((x) => 2 ** x),
    log: rounded(Math.log),
    log2: rounded(Math.log2),
    sin: rounded(Math.sin),
    cos: rounded(Math.cos),
    atan: rounded(Math.atan),
    asin: rounded(Math.asin),
    acos: rounded(Math.acos),
    atan2: (y: number, x: number) => round(Math.atan2(y, x)),
    tanh: rounded(Math.tanh),
    step: (edge: number, x: number) => (x >= edge ? 1 : 0),
    ldexp: (x: number, exponent: number) => round(scaled(x, exponent)),
    from: round,
    fromInteger: round,
    loaded: same,
    hull: same,
    lt: (a: number, b: number) => (a < b ? 1 : 0),
    le: (a: number, b: number) => (a <= b ? 1 : 0),
    eq: (a: number, b: number) => (a === b ? 1 : 0),
    toI32: (x: number) => Math.trunc(Math.min(Math.max(x, -(2 ** 31)), 2 ** 31 - 1)) | 0,
    toU32: (x: number) => Math.trunc(Math.min(Math.max(x, 0), 2 ** 32 - 1)) >>> 0,
    toBits,
    fromBits,
  } satisfies Record<FloatOperation, unknown>;
}

/** The name of an operation on floating-point numbers. */
export type FloatOperation = keyof ReturnType<typeof intervalArithmetic>;

/** The functions that generated code calls. */

import type { CallExpression } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import type { CodeWriter } from "./codeWriter.ts";
import { type FloatFormat, f16Format, f32Format } from "./floatFormat.ts";
import * as integers from "./integers.ts";
import type { Bounds } from "./intervals.ts";
import type { FloatOperation } from "./nearest.ts";
import type { RaceDetector } from "./races.ts";
import { Undecided } from "./undecided.ts";
import type { CellsValue, EmittedValue } from "./values.ts";

/**
 * Returns the operations on numbers of one format, by name. Those on intervals leave their results
 * in `r`.
 */
export type Arithmetic = (format: FloatFormat, r: Bounds) => Operations;

/** The operations on numbers of one format. */
export type Operations = Record<FloatOperation, unknown> & {
  readonly sumProducts?: SumProducts;
  /** Only for executions with unknown integers. */
  readonly derived?: Derived;
};

/** Adds the products of two lists of numbers to a number. */
export type SumProducts = (sum: number, left: ArrayLike<number>, right: ArrayLike<number>) => number;

/** Takes the value of a built-in function that other operations have computed, and returns it. */
export type Derived = (name: string, value: number, ...operands: number[]) => number;

/** Computes an operation on integers of which some are unknown: at least `unknownInteger`. */
export type OnUnknown = (operation: string, ...operands: number[]) => number;

/** The part of the executor that has subgroup matrices. */
export interface MatrixOperations {
  /** Returns true for a call of a function of such matrices, and for a constructor. */
  isOperation(program: Program, call: CallExpression): boolean;
  /** Emits such a call, and returns its result. */
  emit(
    code: CodeWriter,
    program: Program,
    call: CallExpression,
    args: readonly EmittedValue[],
  ): CellsValue | undefined;
  /** Returns the functions on numbers of one format that the emitted code calls. */
  library(operations: Operations): Readonly<Record<string, unknown>>;
}

/** Returns the functions for a kernel, by their names in the code. */
export function createLibrary(
  arithmetic: Arithmetic,
  races: RaceDetector | undefined,
  matrices: MatrixOperations | undefined,
): Record<string, unknown> {
  // The bounds of one number, or of the four of a texel.
  const r = new Float64Array(8);
  const operationsOn = (format: FloatFormat) => {
    const operations = arithmetic(format, r);
    return { ...operations, ...matrices?.library(operations) };
  };
  return {
    ...integers,
    ...named("f32", operationsOn(f32Format)),
    ...named("f16", operationsOn(f16Format)),
    f32_format: f32Format,
    f16_format: f16Format,
    r,
    races,
    exponentOf,
    outOfBounds: () => {
      throw new Undecided("an index is out of bounds");
    },
    outOfFuel: () => {
      throw outOfBudget();
    },
  };
}

/** Returns what ends a workgroup that takes longer than it may. */
export const outOfBudget = () => new Undecided("too many iterations, calls and invocations", "budget");

function named(prefix: string, functions: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(functions).map(([name, each]) => [`${prefix}_${name}`, each]));
}

/** Returns the exponent that `frexp` gives for all numbers of an interval. */
function exponentOf(low: number, high: number): number {
  const [from, to] = [exponent(low), exponent(high)];
  if (from !== to) throw new Undecided("an exponent depends on rounding", "rounding");
  return from;
}

function exponent(x: number): number {
  if (x === 0 || !Number.isFinite(x)) return x === 0 ? 0 : Number.NaN;
  let power = Math.floor(Math.log2(Math.abs(x))) + 1;
  // The logarithm may be rounded across a power of two.
  while (Math.abs(x) >= 2 ** power) power++;
  while (Math.abs(x) < 2 ** (power - 1)) power--;
  return power;
}

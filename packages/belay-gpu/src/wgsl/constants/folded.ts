import type { Type } from "../types.ts";
import type { Value } from "../values.ts";

/** A built-in function on whole values. */
export type ConstantFunction = (args: readonly Value[], resultType: Type) => Value;

/**
 * The outcome of a constant evaluation. A reason is a lower-case phrase such as `division by zero`.
 */
export type Folded =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly reason: string };

class NoValue extends Error {}

/** Ends an evaluation with an error of the program. Only `folded` catches it. */
export function noValue(reason: string): never {
  throw new NoValue(reason);
}

/** Runs one evaluation, and turns `noValue` into a result. */
export function folded(evaluation: () => Value): Folded {
  try {
    return { ok: true, value: evaluation() };
  } catch (error) {
    if (error instanceof NoValue) return { ok: false, reason: error.message };
    throw error;
  }
}

import type { Verdict } from "../program.ts";

/**
 * An argument of a function with loops: a number, or an array that the function may change in
 * place.
 */
export type Argument = Uint8Array | Uint16Array | Uint32Array | Float32Array | number;

/** A function with loops to speculate, at one size. */
export interface LoopProgram<Arguments extends readonly Argument[] = readonly Argument[]> {
  /** The number of iterations of all its loops together. */
  readonly iterations: number;
  /** Returns the function's arguments, new at every call. */
  inputs(): Arguments;
  /**
   * Compares the function's arguments after a run with a reference that is computed in another way.
   */
  verify(left: Arguments): Verdict;
}

/**
 * Returns a function that computes a reference at its first call only, as one program is verified
 * many times.
 */
export function kept<Reference>(compute: () => Reference): () => Reference {
  let known: { readonly reference: Reference } | undefined;
  return () => {
    known ??= { reference: compute() };
    return known.reference;
  };
}

/** Returns the verdict on a wrong value. */
export const wrong = (place: string, actual: number | undefined, expected: number): Verdict => ({
  ok: false,
  message: `${place} is ${actual} instead of ${expected}`,
});

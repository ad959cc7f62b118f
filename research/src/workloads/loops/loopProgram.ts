import type { Verdict } from "../program.ts";

/** What a function with loops takes: arrays, some of which it changes in place, and numbers. */
export type Argument = Uint8Array | Uint16Array | Uint32Array | Float32Array | number;

/** A function with loops that are to be speculated, at one size. */
export interface LoopProgram<Arguments extends readonly Argument[] = readonly Argument[]> {
  /** How many iterations its loops have together. */
  readonly iterations: number;
  /** The function's arguments, new at every call. */
  inputs(): Arguments;
  /**
   * Compares what the function left in its arguments with a reference that is computed in another
   * way.
   */
  verify(left: Arguments): Verdict;
}

/** Computes a reference when it is first asked for: one program is verified many times. */
export function kept<Reference>(compute: () => Reference): () => Reference {
  let known: { readonly reference: Reference } | undefined;
  return () => {
    known ??= { reference: compute() };
    return known.reference;
  };
}

/** The verdict on a value that is not the right one. */
export const wrong = (place: string, actual: number | undefined, expected: number): Verdict => ({
  ok: false,
  message: `${place} is ${actual} instead of ${expected}`,
});

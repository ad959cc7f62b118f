import type { Loop } from "./ir.ts";

/**
 * Returns `of` with its results cached per loop. A loop's tree never changes, and a cached result
 * keeps calls of short loops short.
 */
export function oncePerLoop<Result>(of: (loop: Loop) => Result): (loop: Loop) => Result {
  const known = new WeakMap<Loop, { readonly result: Result }>();
  return (loop) => {
    const found = known.get(loop) ?? { result: of(loop) };
    known.set(loop, found);
    return found.result;
  };
}

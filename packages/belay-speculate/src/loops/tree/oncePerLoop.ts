import type { Loop } from "./ir.ts";

/**
 * The same function, which looks at each loop once: their trees do not change, and calls of short
 * loops are to be short.
 */
export function oncePerLoop<Result>(of: (loop: Loop) => Result): (loop: Loop) => Result {
  const known = new WeakMap<Loop, { readonly result: Result }>();
  return (loop) => {
    const found = known.get(loop) ?? { result: of(loop) };
    known.set(loop, found);
    return found.result;
  };
}

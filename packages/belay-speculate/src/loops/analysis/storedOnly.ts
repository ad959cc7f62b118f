import { oncePerLoop } from "../tree/oncePerLoop.ts";
import { everyExpression } from "../tree/walk.ts";

/**
 * Names of the arrays that a loop stores to and never loads from: what they held before matters
 * only where it is not overwritten.
 */
export const storedOnly = oncePerLoop((loop): readonly string[] => {
  const loaded = new Set(
    [...everyExpression(loop)].flatMap((expression) =>
      expression.kind === "load" ? [expression.array] : [],
    ),
  );
  return loop.arrays.flatMap(({ name, role }) => (role === "read" || loaded.has(name) ? [] : [name]));
});

import type { LoopArray } from "../tree/ir.ts";
import { oncePerLoop } from "../tree/oncePerLoop.ts";
import { everyExpression } from "../tree/walk.ts";

/**
 * The names of the arrays that a loop stores to and never loads from. Their old elements matter
 * only where the loop does not overwrite them.
 */
export const storedOnly = oncePerLoop((loop): readonly string[] => {
  const loaded = new Set(
    [...everyExpression(loop)].flatMap((expression) =>
      expression.kind === "load" ? [expression.array] : [],
    ),
  );
  const isStored = ({ role }: LoopArray) => role === "tracked" || role === "owned";
  return loop.arrays.flatMap((array) => (isStored(array) && !loaded.has(array.name) ? [array.name] : []));
});

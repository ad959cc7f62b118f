import type { Loop } from "../loops/ir.ts";
import { hasInnerLoops } from "../loops/kernels/walk.ts";
import { operationsOf } from "./operations.ts";

/** Operations below which a GPU takes longer to be asked than a CPU to execute them. */
const small = 2 ** 22;

/**
 * Whether a loop is too small for a GPU that keeps `keptBytes` of its arrays, as far as its text and the number of its iterations and
 * elements tell. No clock is asked, and not where the arrays are now, so the answer is always the same.
 */
export function isSmall(
  loop: Loop,
  count: number,
  lengths: Readonly<Record<string, number>>,
  keptBytes: number,
): boolean {
  // Inner loops may go over all elements.
  const elements = hasInnerLoops(loop) ? Object.values(lengths).reduce((sum, length) => sum + length, 0) : 0;
  // A byte is moved in the time of an operation.
  return count * operationsOf(loop) + elements + keptBytes < small;
}

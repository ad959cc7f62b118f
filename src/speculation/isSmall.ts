import type { Loop, Statement } from "../loops/ir.ts";
import { everyStatement, expressionsOf, hasInnerLoops, withOperands } from "../loops/kernels/walk.ts";

/** Operations below which a GPU takes longer to be asked than a CPU to execute them. */
const small = 2 ** 22;
/** Turns that an inner loop is thought to take. */
const turns = 8;

/**
 * Whether a loop is too small for a GPU, as far as its text and the number of its iterations and elements tell. No clock is asked,
 * so the answer is always the same.
 */
export function isSmall(loop: Loop, count: number, lengths: Readonly<Record<string, number>>): boolean {
  // Inner loops may go over all elements.
  const elements = hasInnerLoops(loop) ? Object.values(lengths).reduce((sum, length) => sum + length, 0) : 0;
  return count * operationsOf(loop.body) + elements < small;
}

const sizes = new WeakMap<readonly Statement[], number>();

function operationsOf(body: readonly Statement[]): number {
  const known = sizes.get(body);
  if (known !== undefined) return known;
  let operations = 0;
  for (const statement of everyStatement(body)) {
    for (const expression of expressionsOf(statement)) operations += [...withOperands(expression)].length;
    // What is in an inner loop is counted once by itself.
    if (statement.kind === "loop")
      operations += (turns - 1) * operationsOf([...statement.body, ...statement.update]);
  }
  sizes.set(body, operations);
  return operations;
}

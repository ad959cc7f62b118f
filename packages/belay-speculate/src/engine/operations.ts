import type { Loop, Statement } from "../loops/ir.ts";
import { everyStatement, expressionsOf, withOperands } from "../loops/kernels/walk.ts";

/** Turns that an inner loop is thought to take. */
const turns = 8;

const sizes = new WeakMap<readonly Statement[], number>();

/** Operations of an iteration of a loop, as far as its text tells. */
export function operationsOf({ body }: Pick<Loop, "body">): number {
  const known = sizes.get(body);
  if (known !== undefined) return known;
  let operations = 0;
  for (const statement of everyStatement(body)) {
    for (const expression of expressionsOf(statement)) operations += [...withOperands(expression)].length;
    // What is in an inner loop is counted once by itself.
    if (statement.kind === "loop")
      operations += (turns - 1) * operationsOf({ body: [...statement.body, ...statement.update] });
  }
  sizes.set(body, operations);
  return operations;
}

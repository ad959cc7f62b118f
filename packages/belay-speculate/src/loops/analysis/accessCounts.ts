import type { BodyStatement, LoopArray, LoopExpression } from "../tree/ir.ts";
import { expressionsOf, operandsOf } from "../tree/walk.ts";

/**
 * The largest numbers of elements of tracked arrays that an iteration loads and stores. Null if
 * nothing bounds a number.
 */
export interface AccessCounts {
  readonly loads: number | null;
  readonly stores: number | null;
}

const none = { loads: 0, stores: 0 };
type Counts = typeof none;

const add = (one: Counts, other: Counts): Counts => ({
  loads: one.loads + other.loads,
  stores: one.stores + other.stores,
});
const larger = (one: Counts, other: Counts): Counts => ({
  loads: Math.max(one.loads, other.loads),
  stores: Math.max(one.stores, other.stores),
});
/** Multiplies counts. Zero stays zero, also times infinity. */
const times = (count: number, { loads, stores }: Counts): Counts => ({
  loads: loads === 0 ? 0 : loads * count,
  stores: stores === 0 ? 0 : stores * count,
});

/**
 * The largest useful bound. A larger one, such as the distance of two indices in an array, helps no
 * more than none.
 */
const largest = 2 ** 16;

/**
 * Counts the accesses of an iteration: the larger side of a branch, and all iterations of an inner
 * loop.
 */
export function accessCounts(body: readonly BodyStatement[], arrays: readonly LoopArray[]): AccessCounts {
  const tracked = new Set(arrays.filter(({ role }) => role === "tracked").map(({ name }) => name));

  const ofExpression = (expression: LoopExpression): Counts => {
    if (expression.kind === "conditional") {
      const { test, yes, no } = expression;
      return add(ofExpression(test), larger(ofExpression(yes), ofExpression(no)));
    }
    const itself =
      expression.kind === "load" && tracked.has(expression.array) ? { loads: 1, stores: 0 } : none;
    return operandsOf(expression).map(ofExpression).reduce(add, itself);
  };

  const ofList = (statements: readonly BodyStatement[]): Counts =>
    statements.map(ofStatement).reduce(add, none);

  const ofStatement = (statement: BodyStatement): Counts => {
    const evaluated = expressionsOf(statement).map(ofExpression).reduce(add, none);
    switch (statement.kind) {
      case "store":
        return tracked.has(statement.array) ? add(evaluated, { loads: 0, stores: 1 }) : evaluated;
      case "if":
        return add(evaluated, larger(ofList(statement.yes), ofList(statement.no)));
      case "loop": {
        const most = statement.most ?? Number.POSITIVE_INFINITY;
        // The last time, the body runs only up to its test.
        const test = ofList(statement.body.slice(0, statement.body.findIndex(leaves) + 1));
        return add(test, times(most, add(ofList(statement.body), ofList(statement.update))));
      }
      default:
        return evaluated;
    }
  };
  const leaves = (statement: BodyStatement) => statement.kind === "if" && statement.yes[0]?.kind === "break";

  const { loads, stores } = ofList(body);
  return {
    loads: loads <= largest ? loads : null,
    stores: stores <= largest ? stores : null,
  };
}

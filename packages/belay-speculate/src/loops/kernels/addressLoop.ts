import type { Loop, Statement } from "../ir.ts";
import { oncePerLoop } from "../oncePerLoop.ts";
import { openedBranches } from "./openedBranches.ts";
import { choosesLoads, varyingIn } from "./varyingIn.ts";
import { everyStatement, expressionsOf, withOperands } from "./walk.ts";

/** A loop to evaluate instead of another one, to find out which elements its iterations may access before any is executed. */
export interface AddressLoop {
  readonly loop: Loop;
  /** Whether iterations access, and branch, just like this; otherwise they may leave some of it out. */
  readonly isExact: boolean;
  /**
   * Whether addresses follow from carried variables, which are predicted to stay as they are: they do up to the first iteration of a
   * window that stores to one.
   */
  readonly isPredicted: boolean;
  /** Whether they follow from numbers alone: from inputs, lengths and variables, and from no element of any array. */
  readonly followsFromNumbers: boolean;
}

/**
 * Makes the loop by which kernels find an iteration's addresses before its values, each time the same ones; null when there is none. That
 * needs elements that nothing decides about which the loop writes, and no arithmetic whose rounding WGSL leaves to the compiler
 * of one kernel. Where only branches depend on such values, both sides are evaluated, one after the other.
 */
export const addressLoop = oncePerLoop(
  (loop): AddressLoop | null =>
    findWith(loop, false) ?? (loop.carried.length > 0 ? findWith(loop, true) : null),
);

function findWith(loop: Loop, isPredicted: boolean): AddressLoop | null {
  const read = new Set(loop.arrays.filter(({ role }) => role === "read").map(({ name }) => name));
  const varies = varyingIn(loop, read, isPredicted);
  const { expressions, indices, branches } = partsOf(loop);
  if (indices.some(varies)) return null;
  // What is predicted must be known whenever it changes, or nobody knows where the iteration goes on.
  if (isPredicted && loop.carried.some(({ name, type }) => varies({ kind: "carried", name, type })))
    return null;
  const open = branches.filter(({ test }) => varies(test));
  if (open.some(({ yes, no }) => leaves([...yes, ...no]))) return null;
  const isExact = open.length === 0 && !expressions.some((expression) => choosesLoads(expression, varies));
  const evaluated = isExact ? loop : { ...loop, body: openedBranches(loop.body, varies) };
  return {
    ...{ loop: evaluated, isExact, isPredicted },
    followsFromNumbers: followsFromNumbers(evaluated, isPredicted),
  };
}

function followsFromNumbers(loop: Loop, isPredicted: boolean): boolean {
  const varies = varyingIn(loop, new Set(), isPredicted);
  const { expressions, indices, branches } = partsOf(loop);
  return (
    !indices.some(varies) &&
    !branches.some(({ test }) => varies(test)) &&
    !expressions.some((expression) => choosesLoads(expression, varies))
  );
}

/** All expressions of a loop, those that are indices, and its branches. */
function partsOf(loop: Loop) {
  const statements = [...everyStatement(loop.body)];
  const expressions = statements.flatMap((statement) =>
    expressionsOf(statement).flatMap((expression) => [...withOperands(expression)]),
  );
  const indices = [
    ...expressions.flatMap((expression) => (expression.kind === "load" ? [expression.index] : [])),
    ...statements.flatMap((statement) => (statement.kind === "store" ? [statement.index] : [])),
  ];
  const branches = statements.flatMap((statement) => (statement.kind === "if" ? [statement] : []));
  return { expressions, indices, branches };
}

/** Whether statements jump to a loop around them, or end the speculated one. */
function leaves(statements: readonly Statement[]): boolean {
  const inside = [...everyStatement(statements)];
  const labels = new Set(inside.flatMap((statement) => (statement.kind === "loop" ? [statement.label] : [])));
  return inside.some(
    (statement) =>
      statement.kind === "endLoop" ||
      ((statement.kind === "break" || statement.kind === "continue") && !labels.has(statement.label)),
  );
}

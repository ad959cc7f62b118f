/**
 * Computes the ways in which statements may end. Source: WGSL specification, "Behavior Analysis".
 */

import type { Statement } from "../ast.ts";

/** The ways in which a statement may end, as bits. */
const next = 1;
const breaks = 2;
const continues = 4;
const returns = 8;

/** The results by statement, which keep the work on nested statements linear. */
const known = new WeakMap<Statement, number>();

/** Returns true for a loop that nothing ends. */
export function neverEnds(statement: Statement): boolean {
  return (statement.kind === "loop" || statement.kind === "for") && of(statement) === 0;
}

/**
 * Returns true if the code after some statements may be reached. At the end of a function that
 * returns a value, none may be.
 */
export function mayReachEnd(statements: readonly Statement[]): boolean {
  return (behaviorOf(statements) & next) !== 0;
}

function behaviorOf(statements: readonly Statement[]): number {
  let behavior = next;
  for (const statement of statements) {
    if ((behavior & next) === 0) break;
    behavior = (behavior & ~next) | of(statement);
  }
  return behavior;
}

function of(statement: Statement): number {
  const behavior = known.get(statement) ?? found(statement);
  known.set(statement, behavior);
  return behavior;
}

function found(statement: Statement): number {
  switch (statement.kind) {
    case "return":
      return returns;
    case "break":
      return breaks;
    case "continue":
      return continues;
    case "block":
      return behaviorOf(statement.statements);
    case "if":
      return behaviorOf(statement.then.statements) | (statement.otherwise ? of(statement.otherwise) : next);
    case "switch": {
      const clauses = statement.clauses.map(({ body }) => behaviorOf(body.statements));
      return left(clauses.reduce((all, each) => all | each, 0));
    }
    case "loop": {
      const round =
        behaviorOf(statement.body.statements) | behaviorOf(statement.continuing?.statements ?? []);
      return ofLoop(round, statement.breakIf !== null);
    }
    case "for":
      return ofLoop(behaviorOf(statement.body.statements), statement.condition !== null);
    case "while":
      return ofLoop(behaviorOf(statement.body.statements), true);
    default:
      return next;
  }
}

/** Returns the behavior of a construct that `break` ends: control continues after it. */
const left = (behavior: number) => ((behavior & breaks) === 0 ? behavior : (behavior & ~breaks) | next);

/**
 * Returns the behavior of a loop. The end of an iteration leads to the next one, or to the end of a
 * loop that has a condition.
 */
function ofLoop(round: number, ends: boolean): number {
  const around = round & ~(next | continues);
  return left(ends ? around | breaks : around);
}

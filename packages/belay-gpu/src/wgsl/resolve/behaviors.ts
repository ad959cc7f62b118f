/** How statements may end (specification section "Behavior Analysis"). */

import type { Statement } from "../ast.ts";

/** Ways that a statement may end in, as bits. */
const next = 1;
const breaks = 2;
const continues = 4;
const returns = 8;

/** Known of statements that hold others, so that nests take no more time than rows. */
const known = new WeakMap<Statement, number>();

/** Whether a statement is a loop that nothing ends. */
export function neverEnds(statement: Statement): boolean {
  return (statement.kind === "loop" || statement.kind === "for") && of(statement) === 0;
}

/**
 * Whether what comes behind some statements may be reached: where a function returns a value,
 * nothing may.
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

/** A `break` ends the construct around it, and what comes behind that is next. */
const left = (behavior: number) => ((behavior & breaks) === 0 ? behavior : (behavior & ~breaks) | next);

/** Rounds that end go on with the next one, unless the loop has an end. */
function ofLoop(round: number, ends: boolean): number {
  const around = round & ~(next | continues);
  return left(ends ? around | breaks : around);
}

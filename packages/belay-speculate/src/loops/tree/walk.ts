import type { Expression, Loop, Misspeculated, Statement } from "./ir.ts";
import { oncePerLoop } from "./oncePerLoop.ts";

/** The expressions that an expression is made of. */
export function operandsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "load":
      return [expression.index];
    case "unary":
    case "convert":
      return [expression.operand];
    case "binary":
      return [expression.left, expression.right];
    case "conditional":
      return [expression.test, expression.yes, expression.no];
    case "call":
      return expression.args;
    default:
      return [];
  }
}

/** Whether the expression or one inside it is as asked. */
export function someExpression(expression: Expression, is: (expression: Expression) => boolean): boolean {
  return is(expression) || operandsOf(expression).some((operand) => someExpression(operand, is));
}

/** Loads an element or a carried variable: something that an engine has to see. */
export function isLoad({ kind }: Expression): boolean {
  return kind === "load" || kind === "carried";
}

/** The statements of blocks inside a statement. */
function blocksOf(statement: Statement): readonly (readonly Statement[])[] {
  switch (statement.kind) {
    case "if":
      return [statement.yes, statement.no];
    case "loop":
      return [statement.body, statement.update];
    default:
      return [];
  }
}

/** Every statement, outer ones before those inside them. */
export function* everyStatement(statements: readonly Statement[]): Generator<Statement> {
  for (const statement of statements) {
    yield statement;
    for (const block of blocksOf(statement)) yield* everyStatement(block);
  }
}

/** The outermost expressions of a statement, without those of the statements inside it. */
export function expressionsOf(statement: Statement): readonly Expression[] {
  switch (statement.kind) {
    case "declare":
    case "assign":
    case "assignCarried":
    case "reduce":
      return [statement.value];
    case "store":
      return [statement.index, statement.value];
    case "if":
      return [statement.test];
    case "misspeculate":
      return indicesOf(statement.which);
    default:
      return [];
  }
}

function indicesOf(which: Misspeculated): readonly Expression[] {
  switch (which.kind) {
    case "absolute":
      return [which.index];
    case "between":
      return [which.from, which.to].flatMap((bound) => (bound?.kind === "absolute" ? [bound.index] : []));
    default:
      return [];
  }
}

/** Every expression of a loop, outer ones before those inside them. */
export function* everyExpression(loop: Loop): Generator<Expression> {
  for (const statement of everyStatement(loop.body)) {
    for (const expression of expressionsOf(statement)) yield* withOperands(expression);
  }
}

/** An expression and everything in it, outer ones first. */
export function* withOperands(expression: Expression): Generator<Expression> {
  yield expression;
  for (const operand of operandsOf(expression)) yield* withOperands(operand);
}

/**
 * How many turns the loops in these statements take together at most; infinite where nothing bounds
 * them.
 */
function turnsOf(statements: readonly Statement[]): number {
  return statements.reduce((sum, statement) => {
    const inside = blocksOf(statement).reduce((turns, block) => turns + turnsOf(block), 0);
    return sum + (statement.kind === "loop" ? (statement.most ?? Infinity) * (1 + inside) : inside);
  }, 0);
}

/** Turns that an inner loop, with those inside it, may take uncounted. */
const mostTurns = 2 ** 13;

/** Whether an inner loop ends soon, whatever the data. */
export function endsSoon(statement: Statement): boolean {
  return turnsOf([statement]) <= mostTurns;
}

/** Whether an iteration may be one for the CPU, or end the loop. */
export const mayReport = oncePerLoop((loop) => {
  const statements = [...everyStatement(loop.body)];
  return (
    statements.some(
      (statement) => statement.kind === "endLoop" || (statement.kind === "loop" && !endsSoon(statement)),
    ) || [...everyExpression(loop)].some((expression) => expression.kind === "load" && !expression.inside)
  );
});

/** Whether an iteration may take time worth mentioning. */
export const takesLong = oncePerLoop(({ body }) => turnsOf(body) > 64);

/** Whether an iteration has loops of its own, so that nothing says how long it takes. */
export const hasInnerLoops = oncePerLoop(({ body }) =>
  [...everyStatement(body)].some(({ kind }) => kind === "loop"),
);

import type { BodyStatement, Loop, LoopExpression, Misspeculated, ReducedVariable, Reduction } from "./ir.ts";
import { oncePerLoop } from "./oncePerLoop.ts";

/** Returns the direct operands of an expression. */
export function operandsOf(expression: LoopExpression): readonly LoopExpression[] {
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

/** Returns true if `is` holds for the expression or for one inside it. */
export function someExpression(
  expression: LoopExpression,
  is: (expression: LoopExpression) => boolean,
): boolean {
  return is(expression) || operandsOf(expression).some((operand) => someExpression(operand, is));
}

/**
 * Returns true if the expression loads an element or a carried variable. The engine tracks both.
 */
export function isLoad({ kind }: LoopExpression): boolean {
  return kind === "load" || kind === "carried";
}

/** Returns true if the iteration bails out unless the expression's type holds its integer. */
export const isChecked = (expression: LoopExpression): boolean =>
  "checked" in expression && expression.checked === true;

/** Returns the blocks that a statement contains. */
function blocksOf(statement: BodyStatement): readonly (readonly BodyStatement[])[] {
  switch (statement.kind) {
    case "if":
      return [statement.yes, statement.no];
    case "loop":
      return [statement.body, statement.update];
    default:
      return [];
  }
}

/** Yields every statement, outer ones before the statements inside them. */
export function* everyStatement(statements: readonly BodyStatement[]): Generator<BodyStatement> {
  for (const statement of statements) {
    yield statement;
    for (const block of blocksOf(statement)) yield* everyStatement(block);
  }
}

/** Returns the outermost expressions of a statement, without those of the statements inside it. */
export function expressionsOf(statement: BodyStatement): readonly LoopExpression[] {
  switch (statement.kind) {
    case "declare":
    case "assign":
    case "assignCarried":
      return [statement.value];
    case "reduce":
      return [statement.value, ...(statement.companions ?? [])];
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

function indicesOf(which: Misspeculated): readonly LoopExpression[] {
  switch (which.kind) {
    case "absolute":
      return [which.index];
    case "between":
      return [which.from, which.to].flatMap((bound) => (bound?.kind === "absolute" ? [bound.index] : []));
    default:
      return [];
  }
}

/** Returns the variables that the reductions of a loop set. */
export function reducedVariables({ reductions }: Pick<Loop, "reductions">): readonly ReducedVariable[] {
  return reductions.flatMap((reduction) => [reduction, ...(reduction.companions ?? [])]);
}

/** Returns true for a reduction that keeps one of the values, with its companions. */
export const isChoice = ({ operator }: Reduction): boolean => [">", ">=", "<", "<=", "="].includes(operator);

/** Returns true if iterations may commit in another order, which choices of equal values tell. */
export const mayReorder = ({ reductions, isOrdered }: Loop): boolean =>
  !isOrdered && !reductions.some(isChoice);

/** Yields every expression of a loop, outer ones before those inside them. */
export function* everyExpression(loop: Loop): Generator<LoopExpression> {
  for (const statement of everyStatement(loop.body)) {
    for (const expression of expressionsOf(statement)) yield* withOperands(expression);
  }
}

/** Yields an expression and everything in it, outer ones first. */
export function* withOperands(expression: LoopExpression): Generator<LoopExpression> {
  yield expression;
  for (const operand of operandsOf(expression)) yield* withOperands(operand);
}

/**
 * Returns the largest total number of iterations of the loops in these statements; infinite if
 * nothing bounds it.
 */
function innerIterations(statements: readonly BodyStatement[]): number {
  return statements.reduce((total, statement) => {
    const inBlocks = blocksOf(statement).reduce((sum, block) => sum + innerIterations(block), 0);
    return total + (statement.kind === "loop" ? (statement.most ?? Infinity) * (1 + inBlocks) : inBlocks);
  }, 0);
}

/**
 * The largest number of iterations that an inner loop, with the loops inside it, may run without a
 * counter.
 */
const mostUncounted = 2 ** 13;

/** Returns true if an inner loop ends soon, whatever the data. */
export function endsSoon(statement: BodyStatement): boolean {
  return innerIterations([statement]) <= mostUncounted;
}

/** True if an iteration may bail out to the CPU or end the loop. */
export const mayReport = oncePerLoop((loop) => {
  const statements = [...everyStatement(loop.body)];
  // A store outside of a copy makes the plain array longer, and the iteration bails out.
  const copies = new Set(loop.arrays.flatMap(({ name, isCopy }) => (isCopy ? [name] : [])));
  return (
    statements.some(
      (statement) =>
        statement.kind === "endLoop" ||
        (statement.kind === "loop" && !endsSoon(statement)) ||
        (statement.kind === "store" && !statement.inside && copies.has(statement.array)),
    ) ||
    [...everyExpression(loop)].some(
      (expression) => (expression.kind === "load" && !expression.inside) || isChecked(expression),
    )
  );
});

/** True if an iteration may run more than 64 iterations of inner loops. */
export const takesLong = oncePerLoop(({ body }) => innerIterations(body) > 64);

/** True if an iteration has inner loops, so that its time is unknown. */
export const hasInnerLoops = oncePerLoop(({ body }) =>
  [...everyStatement(body)].some(({ kind }) => kind === "loop"),
);

/** Walks over the tree of a loop. */
import type { Expression, Statement } from "./ir.ts";

/** The lists of statements that a statement holds. */
export function nestedLists(statement: Statement): readonly (readonly Statement[])[] {
  if (statement.kind === "if") return [statement.yes, statement.no];
  return statement.kind === "loop" ? [statement.body, statement.update] : [];
}

/** The expressions that a statement evaluates itself, in order. */
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
      return statement.which.kind === "absolute" ? [statement.which.index] : [];
    default:
      return [];
  }
}

/** The operands of an expression, in order. */
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

/** An expression and everything in it. */
export function* partsOf(expression: Expression): Generator<Expression> {
  yield expression;
  for (const operand of operandsOf(expression)) yield* partsOf(operand);
}

/** Every statement of a list and of the lists in it. */
export function* allStatements(statements: readonly Statement[]): Generator<Statement> {
  for (const statement of statements) {
    yield statement;
    for (const list of nestedLists(statement)) yield* allStatements(list);
  }
}

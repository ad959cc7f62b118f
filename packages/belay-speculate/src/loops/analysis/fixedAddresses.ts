import type { BodyStatement, LoopArray, LoopExpression } from "../tree/ir.ts";
import { everyStatement, expressionsOf, isChecked, withOperands } from "../tree/walk.ts";

/**
 * Returns true if no tracked element and no carried variable decides which elements an iteration
 * accesses or which branches it takes. Values are followed through locals, and through elements of
 * owned arrays, because an iteration may store such an element and load it again.
 */
export function addressesAreFixed(body: readonly BodyStatement[], arrays: readonly LoopArray[]): boolean {
  const changing = new Set(arrays.filter(({ role }) => role === "tracked").map(({ name }) => name));
  const locals = new Set<string>();

  const changes = (expression: LoopExpression): boolean =>
    [...withOperands(expression)].some(
      (part) =>
        part.kind === "carried" ||
        (part.kind === "load" && changing.has(part.array)) ||
        (part.kind === "local" && locals.has(part.name)),
    );

  const statements = [...everyStatement(body)];
  for (let known = -1; known !== changing.size + locals.size; ) {
    known = changing.size + locals.size;
    for (const statement of statements) {
      if (statement.kind === "store" && changes(statement.value)) changing.add(statement.array);
      if ((statement.kind === "declare" || statement.kind === "assign") && changes(statement.value)) {
        locals.add(statement.name);
      }
    }
  }
  return !statements.some(
    (statement) =>
      (statement.kind === "if" && changes(statement.test)) ||
      (statement.kind === "store" && changes(statement.index)) ||
      (statement.kind === "misspeculate" && expressionsOf(statement).some(changes)) ||
      expressionsOf(statement).some((expression) => choosesAccess(expression, changes)),
  );
}

/**
 * Returns true if a part of the expression decides which element is loaded, or whether one is, or
 * whether the iteration bails out.
 */
function choosesAccess(expression: LoopExpression, changes: (part: LoopExpression) => boolean): boolean {
  return [...withOperands(expression)].some((part) => {
    switch (part.kind) {
      case "load":
        return changes(part.index);
      case "unary":
      case "convert":
        return isChecked(part) && changes(part);
      case "conditional":
        return [part.yes, part.no].some(loads) && changes(part.test);
      case "binary":
        if (isChecked(part) && changes(part)) return true;
        return (part.operator === "&&" || part.operator === "||") && loads(part.right) && changes(part.left);
      default:
        return false;
    }
  });
}

const loads = (expression: LoopExpression) =>
  [...withOperands(expression)].some(({ kind }) => kind === "load");

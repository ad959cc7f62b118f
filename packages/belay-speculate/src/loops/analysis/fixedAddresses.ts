import type { Expression, LoopArray, Statement } from "../tree/ir.ts";
import { everyStatement, expressionsOf, withOperands } from "../tree/walk.ts";

/**
 * Whether it is known before a loop runs which elements each iteration accesses and which way it
 * branches: nothing of that follows from a tracked element or a carried variable. A value follows
 * from another through locals, and through elements of an owned array, which an iteration may store
 * and load again.
 */
export function addressesAreFixed(body: readonly Statement[], arrays: readonly LoopArray[]): boolean {
  const changing = new Set(arrays.filter(({ role }) => role === "tracked").map(({ name }) => name));
  const locals = new Set<string>();

  const changes = (expression: Expression): boolean =>
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

/** Whether a part of the expression decides which element is loaded, or whether one is. */
function choosesAccess(expression: Expression, changes: (part: Expression) => boolean): boolean {
  return [...withOperands(expression)].some((part) => {
    switch (part.kind) {
      case "load":
        return changes(part.index);
      case "conditional":
        return [part.yes, part.no].some(loads) && changes(part.test);
      case "binary":
        return (part.operator === "&&" || part.operator === "||") && loads(part.right) && changes(part.left);
      default:
        return false;
    }
  });
}

const loads = (expression: Expression) => [...withOperands(expression)].some(({ kind }) => kind === "load");

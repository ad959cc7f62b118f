import type { Expression, Loop, MathFunction, Statement } from "../ir.ts";
import { isLoad, operandsOf, someExpression } from "./walk.ts";

/** Functions of f32 whose result every kernel computes alike. */
const exactFunctions = new Set<MathFunction>(["abs", "ceil", "floor", "trunc", "sign", "min", "max"]);

/**
 * Tells expressions whose value may depend on elements of other arrays than those, or on a kernel's rounding; and on carried variables,
 * unless what is stored to these does not.
 */
export function varyingIn(
  loop: Loop,
  read: ReadonlySet<string>,
  predictsCarried: boolean,
): (expression: Expression) => boolean {
  const varying = new Set<string>();
  const varyingCarried = new Set(predictsCarried ? [] : loop.carried.map(({ name }) => name));
  const varies = (expression: Expression): boolean => {
    switch (expression.kind) {
      case "load":
        return !read.has(expression.array);
      case "carried":
        return varyingCarried.has(expression.name);
      case "local":
        return varying.has(expression.name);
      case "binary":
        if (expression.type === "f32") return true;
        break;
      case "call":
        if (expression.type === "f32" && !exactFunctions.has(expression.callee)) return true;
        break;
    }
    return operandsOf(expression).some(varies);
  };

  // A local varies when anything that varies is assigned to it, or anything in a branch that may not be taken; `own` are the locals
  // of that branch, which do not exist outside of it.
  const walk = (statements: readonly Statement[], own: Set<string> | null): void => {
    for (const statement of statements) {
      switch (statement.kind) {
        case "declare":
          own?.add(statement.name);
          if (varies(statement.value)) varying.add(statement.name);
          break;
        case "assign":
          if (varies(statement.value) || own?.has(statement.name) === false) varying.add(statement.name);
          break;
        case "assignCarried":
          if (varies(statement.value) || own) varyingCarried.add(statement.name);
          break;
        case "if": {
          const inside = () => (varies(statement.test) ? new Set<string>() : own);
          walk(statement.yes, inside());
          walk(statement.no, inside());
          break;
        }
        case "loop":
          walk(statement.body, own);
          walk(statement.update, own);
      }
    }
  };
  for (let before = -1; before !== varying.size + varyingCarried.size; ) {
    before = varying.size + varyingCarried.size;
    walk(loop.body, null);
  }
  return varies;
}

/** Whether a value that varies decides whether the expression loads something. */
export function choosesLoads(expression: Expression, varies: (test: Expression) => boolean): boolean {
  const loads = (side: Expression) => someExpression(side, isLoad);
  switch (expression.kind) {
    case "conditional":
      return (loads(expression.yes) || loads(expression.no)) && varies(expression.test);
    case "binary": {
      const shortCircuits = expression.operator === "&&" || expression.operator === "||";
      return shortCircuits && loads(expression.right) && varies(expression.left);
    }
    default:
      return false;
  }
}

import type { Expression, Loop, MathFunction } from "../ir.ts";
import {
  everyExpression,
  everyStatement,
  expressionsOf,
  isLoad,
  operandsOf,
  someExpression,
} from "./walk.ts";

/** Functions of f32 whose result every kernel computes alike. */
const exact = new Set<MathFunction>(["abs", "ceil", "floor", "trunc", "sign", "min", "max"]);

/**
 * Whether an iteration accesses the same elements, and takes the same branches, each time a kernel evaluates it: nothing that the
 * loop writes decides about either, and no arithmetic whose rounding WGSL leaves to the compiler of one kernel.
 *
 * Then addresses may be evaluated before values, and by more than one kernel.
 */
export function addressesAreRepeatable(loop: Loop): boolean {
  const read = new Set(loop.arrays.filter(({ role }) => role === "read").map(({ name }) => name));
  const varying = new Set<string>();
  const varies = (expression: Expression): boolean => {
    switch (expression.kind) {
      case "load":
        return !read.has(expression.array);
      case "carried":
        return true;
      case "local":
        return varying.has(expression.name);
      case "binary":
        if (expression.type === "f32") return true;
        break;
      case "call":
        if (expression.type === "f32" && !exact.has(expression.callee)) return true;
        break;
    }
    return operandsOf(expression).some(varies);
  };

  // A local varies when anything that varies is assigned to it anywhere.
  const assignments = [...everyStatement(loop.body)].filter(
    (statement) => statement.kind === "declare" || statement.kind === "assign",
  );
  for (let before = -1; before !== varying.size; ) {
    before = varying.size;
    for (const { name, value } of assignments) if (varies(value)) varying.add(name);
  }

  const decides = [...everyExpression(loop)].flatMap(decidingParts);
  for (const statement of everyStatement(loop.body)) {
    if (statement.kind === "store") decides.push(statement.index);
    if (statement.kind === "if") decides.push(...expressionsOf(statement));
  }
  return !decides.some(varies);
}

/** What an expression evaluates to find an element, or to find out whether to load one. */
function decidingParts(expression: Expression): readonly Expression[] {
  const someLoad = (side: Expression) => someExpression(side, isLoad);
  switch (expression.kind) {
    case "load":
      return [expression.index];
    case "conditional":
      return someLoad(expression.yes) || someLoad(expression.no) ? [expression.test] : [];
    case "binary": {
      const shortCircuits = expression.operator === "&&" || expression.operator === "||";
      return shortCircuits && someLoad(expression.right) ? [expression.left] : [];
    }
    default:
      return [];
  }
}

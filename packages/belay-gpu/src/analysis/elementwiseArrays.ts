import type { Expression, FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program, Target } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import type { Type } from "../wgsl/types.ts";

/** Returns the number of nested arrays of a type: 2 for `array<array<f32, 16>, 16>`. */
export const dimensionsOf = (type: Type): number =>
  type.kind === "array" ? 1 + dimensionsOf(type.element) : 0;

/** An expression and the indices that are applied to it. */
export interface Chain {
  readonly root: Expression;
  /** The indices in the order of their application; empty for an expression that is not indexed. */
  readonly indices: readonly Expression[];
}

/** Splits an expression into its root and its indices. */
export function chainOf(expression: Expression): Chain {
  if (expression.kind !== "index") return { root: expression, indices: [] };
  const { root, indices } = chainOf(expression.base);
  return { root, indices: [...indices, expression.index] };
}

/**
 * Returns the module-scope arrays of which `functions` access only single elements, and not
 * neighboring elements in consecutive iterations of a loop. Compilers may merge accesses to
 * elements that are neighbors in memory.
 */
export function elementwiseArrays(
  program: Program,
  functions: Iterable<FunctionDeclaration>,
): Set<GlobalVariable> {
  const arrays = new Set<GlobalVariable>();
  const others = new Set<GlobalVariable>();
  for (const { body } of functions) {
    const counters = countersIn(program, body);
    /** The roots of the chains that were visited as a whole. */
    const seen = new Set<Expression>();
    walk(body, (node) => {
      if (node.kind !== "index" && node.kind !== "identifier") return;
      const { root, indices } = chainOf(node);
      const variable = root.kind === "identifier" ? program.targetOf(root) : undefined;
      if (variable?.kind !== "globalVariable" || seen.has(root)) return;
      seen.add(root);
      const index = indices[dimensionsOf(program.declaredTypeOf(variable)) - 1];
      if (index && !advances(program, index, counters)) arrays.add(variable);
      else others.add(variable);
    });
  }
  for (const variable of others) arrays.delete(variable);
  return arrays;
}

/**
 * Returns the variables that some statement changes by one, and the `let`s that have such a
 * variable as a term.
 */
function countersIn(program: Program, body: FunctionDeclaration["body"]): Set<Target> {
  const counters = new Set<Target>();
  const isOne = (expression: Expression) => {
    const constant = program.constantOf(expression);
    return constant !== undefined && "value" in constant && Number(constant.value) === 1;
  };
  const counterOf = (target: Expression | null) =>
    target?.kind === "identifier" ? program.targetOf(target) : undefined;
  walk(body, (node) => {
    if (node.kind !== "increment" && node.kind !== "assign") return;
    const counter = counterOf(node.target);
    if (!counter) return;
    const counts =
      node.kind === "increment" ||
      (node.operator === "="
        ? node.value.kind === "binary" &&
          /^[+-]$/.test(node.value.operator) &&
          counterOf(node.value.left) === counter &&
          isOne(node.value.right)
        : /^[+-]=$/.test(node.operator) && isOne(node.value));
    if (counts) counters.add(counter);
  });
  walk(body, (node) => {
    if (node.kind === "let" && advances(program, node.initializer, counters)) counters.add(node);
  });
  return counters;
}

/** Returns true if a counter is a term of an index. */
function advances(program: Program, index: Expression, counters: ReadonlySet<Target>): boolean {
  if (index.kind === "binary")
    return (
      /^[+-]$/.test(index.operator) &&
      (advances(program, index.left, counters) || advances(program, index.right, counters))
    );
  // Built-in functions often map neighbors to neighbors.
  if (index.kind === "call")
    return (
      program.targetOf(index.callee)?.kind !== "function" &&
      index.args.some((argument) => advances(program, argument, counters))
    );
  const target = index.kind === "identifier" ? program.targetOf(index) : undefined;
  return target !== undefined && counters.has(target);
}

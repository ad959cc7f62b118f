/** Bounds the number of times that an invocation evaluates an expression. */
import type { Expression, FunctionDeclaration } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, children } from "../wgsl/traverse.ts";
import { reachableFrom } from "./callGraph.ts";

/**
 * Returns the largest number of times that an invocation of a kernel evaluates any of
 * `expressions`. Infinite if one of them is in a loop.
 */
export function executionBound(
  program: Program,
  kernel: FunctionDeclaration,
  expressions: ReadonlySet<Expression>,
): number {
  const known = new Map<FunctionDeclaration, number>();
  const of = (node: AnyNode): number => {
    let bound = (expressions as ReadonlySet<AnyNode>).has(node) ? 1 : 0;
    for (const child of children(node)) bound += of(child);
    if (node.kind === "call") {
      const target = program.targetOf(node.callee);
      if (target?.kind === "function") bound += known.get(target)!;
    }
    const isLoop = node.kind === "loop" || node.kind === "for" || node.kind === "while";
    return isLoop && bound > 0 ? Number.POSITIVE_INFINITY : bound;
  };
  // Callees come before their callers.
  for (const fn of reachableFrom(program, [kernel])) known.set(fn, of(fn.body));
  return known.get(kernel)!;
}

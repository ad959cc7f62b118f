/** Finds the code that only some invocations of a workgroup may reach. */
import type { CallExpression } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, children } from "../wgsl/traverse.ts";
import { functionsOf } from "./callGraph.ts";
import { divergence } from "./divergence.ts";

/**
 * Returns the calls that some invocations of a workgroup may reach without the others. They are in
 * a branch or loop on a divergent value, or in a loop or function that some invocations leave
 * early.
 */
export function partlyReachedCalls(program: Program): ReadonlySet<CallExpression> {
  const isDivergent = divergence(program);
  /** The functions and loops that run for some invocations only. */
  const partly = new Set<AnyNode>();
  const calls = new Set<CallExpression>();
  const visit = (node: AnyNode, fn: AnyNode, loop: AnyNode, isPartly: boolean): void => {
    let [inner, innerLoop] = [isPartly, loop];
    switch (node.kind) {
      case "call": {
        const callee = program.targetOf(node.callee);
        if (isPartly) calls.add(node);
        if (isPartly && callee?.kind === "function") partly.add(callee);
        break;
      }
      case "return":
        if (isPartly) partly.add(fn);
        break;
      case "break":
      case "continue":
        if (isPartly) partly.add(loop);
        break;
      case "if":
        inner ||= isDivergent(node.condition);
        break;
      case "switch":
        innerLoop = node;
        inner ||= partly.has(node) || isDivergent(node.selector);
        break;
      case "for":
      case "while":
      case "loop": {
        innerLoop = node;
        const condition = node.kind === "loop" ? node.breakIf : node.condition;
        inner ||= partly.has(node) || (condition != null && isDivergent(condition));
      }
    }
    for (const child of children(node)) visit(child, fn, innerLoop, inner);
  };
  for (let before = -1; before < partly.size; ) {
    before = partly.size;
    for (const fn of functionsOf(program)) visit(fn.body, fn, fn, partly.has(fn));
  }
  return calls;
}

/** The bodies of kernels whose second replica runs another text, and their traversal. */
import { functionsOf, reachableFrom, stageOf } from "../../analysis/callGraph.ts";
import type { CallExpression, Expression, FunctionDeclaration, IfStatement } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, mapChildren, walk } from "../../wgsl/traverse.ts";
import { type DiversityOptions, secondTextOf, zeroOf } from "../shared/diversity.ts";
import type { Names } from "../shared/names.ts";

/** Returns true for the statement that chooses the text of a body. */
export const choosesText = (names: Names, node: AnyNode): node is IfStatement =>
  node.kind === "if" &&
  node.condition.kind === "identifier" &&
  node.condition.name === secondTextOf(names) &&
  node.otherwise !== null;

/** Returns the bodies of entry points, and the functions of the source that they reach. */
export function functionsOfBodies(
  program: Program,
  names: Names,
  { entryPoints }: DiversityOptions,
): ReadonlySet<FunctionDeclaration> {
  const bodies = new Set<FunctionDeclaration>();
  const addCalled = (node: AnyNode) =>
    walk(node, (each) => {
      const called = each.kind === "call" ? calledBy(program, each) : undefined;
      if (called) bodies.add(called);
    });
  for (const fn of functionsOf(program))
    if (entryPoints.has(fn.name))
      walk(fn.body, (node) => {
        if (choosesText(names, node)) addCalled(node);
      });
  const reached = [...reachableFrom(program, bodies)].filter(isOfSource);
  // Functions that nobody calls may call them, too.
  const callers = functionsOf(program).filter(
    (fn) =>
      isOfSource(fn) &&
      !stageOf(fn) &&
      [...reachableFrom(program, [fn])].some((each) => reached.includes(each)),
  );
  return new Set([...reached, ...callers]);
}

/**
 * Returns true for a declaration of the source. Declarations that transforms add have an empty
 * span.
 */
export const isOfSource = ({ span }: Pick<FunctionDeclaration, "span">): boolean => span.end > 0;

/** Returns the function of the module that a call calls, or undefined. */
export function calledBy(program: Program, call: CallExpression): FunctionDeclaration | undefined {
  const target = program.targetOf(call.callee);
  return target?.kind === "function" ? target : undefined;
}

/**
 * Rewrites a node from the leaves up. `rewrite` gets each node of the program, which has a type,
 * and the same node with rewritten parts.
 */
export function rewriteTyped<T extends AnyNode>(
  node: T,
  rewrite: (node: AnyNode, mapped: AnyNode) => AnyNode,
): T {
  return rewrite(
    node,
    mapChildren<AnyNode>(node, (child) => rewriteTyped(child, rewrite)),
  ) as T;
}

/** Returns a call of a function that transforms add, with the hidden zero as last argument. */
export const calling = (
  names: Names,
  name: string,
  { span }: Expression,
  ...args: readonly Expression[]
): Expression => quote(span).expression`${name}(${args}, ${zeroOf(names)})`;

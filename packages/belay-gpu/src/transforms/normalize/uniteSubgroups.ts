/**
 * Lets each subgroup decide as a whole if it reaches its operations on matrices, and where in
 * memory their numbers are. All lanes of a valid program agree in that. So a fault in one lane
 * strikes all lanes, or none. An operation that only some lanes reach is undefined, and may never
 * end.
 *
 * Before:   for (var k = 0u; k < n; k++) {
 *             let left = subgroupMatrixLoad<…>(&a, k * 8u, 64u);
 *           }
 * After:    for (var k = 0u; subgroupAll(k < n); k++) {
 *             let left = subgroupMatrixLoad<…>(&a, subgroupBroadcastFirst(k * 8u), 64u);
 *           }
 *
 * Conditions that barriers depend on stay, as WGSL must prove them uniform.
 *
 * Requires: stageMatrices, which enables subgroups and turns off the diagnostics for their
 *           uniformity.
 * Ensures:  a valid module.
 * Order:    right after stageMatrices, before faults are injected.
 */
import { functionsOf, reachableFrom } from "../../analysis/callGraph.ts";
import { matrixAccess } from "../../analysis/matrixAccesses.ts";
import { matrixUsers } from "../../analysis/opaqueAccesses.ts";
import { uniformity } from "../../analysis/uniformity.ts";
import type { Expression, FunctionDeclaration, Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, forEachChild, mapExpressions } from "../../wgsl/traverse.ts";
import { mapFunctions } from "../shared/mapFunctions.ts";

export function uniteSubgroups(program: Program, kernels: ReadonlySet<string>): Module {
  const entryPoints = functionsOf(program).filter(({ name }) => kernels.has(name));
  const reached = reachableFrom(program, entryPoints);
  const usesMatrices = matrixUsers(program);
  const isProven = uniformity(program).expressions;
  return mapFunctions(program.module, (fn) => {
    if (!reached.has(fn) || !usesMatrices(fn.body)) return fn;
    const { decisions, places } = dependences(program, fn, usesMatrices);
    return mapExpressions(fn, (expression) => {
      if (isProven.has(expression)) return expression;
      const { expression: made } = quote(expression.span);
      if (places.has(expression)) return made`subgroupBroadcastFirst(${expression})`;
      return decisions.has(expression) ? made`subgroupAll(${expression})` : expression;
    });
  });
}

/** Returns the conditions, and the indices and strides, on which operations on matrices depend. */
function dependences(
  program: Program,
  fn: FunctionDeclaration,
  usesMatrices: (node: AnyNode) => boolean,
): { readonly decisions: ReadonlySet<Expression>; readonly places: ReadonlySet<Expression> } {
  const decisions = new Set<Expression>();
  const places = new Set<Expression>();
  const isComputed = (each: Expression) => program.stageOf(each) === "runtime";
  /** Returns true if a statement may leave a loop that uses matrices. */
  const visit = (node: AnyNode, isInLoop: boolean): boolean => {
    let leaves = isInLoop && (node.kind === "break" || node.kind === "continue");
    const isLoop = node.kind === "for" || node.kind === "while" || node.kind === "loop";
    const inner = isLoop ? usesMatrices(node) : isInLoop && node.kind !== "switch";
    forEachChild(node, (child) => {
      leaves = visit(child, inner) || leaves;
    });
    const decides = leaves || usesMatrices(node);
    if (node.kind === "call") {
      const access = matrixAccess(program, node);
      for (const each of access ? [access.offset, access.stride] : []) if (isComputed(each)) places.add(each);
    } else if (node.kind === "switch") {
      if (decides && isComputed(node.selector)) places.add(node.selector);
    } else {
      const condition =
        node.kind === "loop" ? node.breakIf : node.kind === "if" || isLoop ? node.condition : undefined;
      if (condition && decides && isComputed(condition)) decisions.add(condition);
    }
    return leaves && !isLoop;
  };
  visit(fn.body, false);
  return { decisions, places };
}

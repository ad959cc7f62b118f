/**
 * Finds the values of which a kernel's results are functions, such as the sums before an
 * activation. Candidates are values of the source that an operation uses. The kernel with all of
 * them kept then shows, in an execution with symbols, which of them are sums.
 */
import type { BindingAccess, BindingPoint } from "../analysis/bindings.ts";
import { reachableFrom } from "../analysis/callGraph.ts";
import type { Span } from "../diagnostics/diagnostic.ts";
import type { ResolvedKernel } from "../reference/referenceKernel.ts";
import { type KeptValues, keepSums, resultStores, variableAt } from "../transforms/redundancy/keepSums.ts";
import { Names } from "../transforms/shared/names.ts";
import type { Expression } from "../wgsl/ast.ts";
import { sameType, versionsOf } from "../wgsl/resolve/index.ts";
import { type AnyNode, forEachChild } from "../wgsl/traverse.ts";

/** A function of the sums that a dispatch computes. Its results are stored in place of the sums. */
export interface Activation {
  /** The places of the sums in the source. The last one before the store of a result is its sum. */
  readonly values: readonly Span[];
  /** The statements of a function of WGSL that computes a result from its sum, `x`. */
  readonly text: string;
}

/** The most values of the source that one execution keeps. */
const mostCandidates = 48;

/** An operand of a function or of an operator. */
interface Operand {
  readonly operand: Expression;
  /** True for an argument of a call that adds up no terms. */
  readonly isArgument: boolean;
}

/**
 * Returns the values of the source that may be sums of which the results are functions. Arguments
 * of calls come first, as most activations are calls.
 */
export function candidatesIn({ program, declaration }: ResolvedKernel, output: BindingPoint): Span[] {
  const variable = variableAt(program, output);
  const stores = variable && resultStores(program, variable);
  if (!stores) return [];
  const isCandidate = ({ operand }: Operand) =>
    operand.kind !== "literal" &&
    !program.constantOf(operand) &&
    sameType(program.valueTypeOf(operand), stores.type);
  const functions = [...reachableFrom(program, [declaration])];
  const found = functions.flatMap(({ body }) => operandsIn(body)).filter(isCandidate);
  const ordered = [true, false].flatMap((wanted) => found.filter(({ isArgument }) => isArgument === wanted));
  const spans = ordered.map(({ operand: { span } }) => [`${span.start} ${span.end}`, span] as const);
  return [...new Map(spans).values()].slice(0, mostCandidates);
}

/** Returns all operands, except those in compound assignments: these add up the terms of sums. */
function operandsIn(node: AnyNode): Operand[] {
  if (node.kind === "assign" && node.operator !== "=") return [];
  const own: Expression[] = [];
  if (node.kind === "call") own.push(...node.args);
  else if (node.kind === "binary") own.push(node.left, node.right);
  else if (node.kind === "unary" && node.operator === "-") own.push(node.operand);
  const isArgument = node.kind === "call" && !["fma", "dot"].includes(node.callee.name);
  const operands = own.map((operand) => ({ operand, isArgument }));
  forEachChild(node, (child) => {
    operands.push(...operandsIn(child));
  });
  return operands;
}

/** Returns a kernel that also stores values of its source, next to its results. */
export function keeping(
  { program, declaration, size }: ResolvedKernel,
  output: BindingPoint,
  kept: readonly KeptValues[],
): ResolvedKernel {
  const stores = resultStores(program, variableAt(program, output)!)!;
  const module = keepSums(program, new Names(program), stores, kept);
  const changed = versionsOf(program)(module);
  const kernel = module.declarations.find(
    (each) => each.kind === "function" && each.name === declaration.name,
  );
  return { program: changed, declaration: kernel as typeof declaration, size };
}

/** Returns binding points that a program does not use. */
export function freePoints(bindings: readonly BindingAccess[], count: number): BindingPoint[] {
  const group = Math.max(...bindings.map((each) => each.group)) + 1;
  return Array.from({ length: count }, (_, binding) => ({ group, binding }));
}

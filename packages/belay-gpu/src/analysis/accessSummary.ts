/** Summarizes the accesses of a piece of code to variables, for the analysis of conflicts. */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { GlobalVariable } from "../wgsl/ast.ts";
import { type AnyNode, contains } from "../wgsl/traverse.ts";

/** The operations on each variable, each with its first place in the source. */
export type AccessOperations = ReadonlyMap<GlobalVariable, ReadonlyMap<string, Span>>;

/** The accesses of a piece of code, relative to its barriers. */
export interface AccessSummary {
  /** The accesses that some path executes before its first barrier. */
  readonly first: AccessOperations;
  /** The accesses that some path executes after its last barrier. */
  readonly last: AccessOperations;
  readonly all: AccessOperations;
  /** True if some path has no barrier. */
  readonly isBarrierFree: boolean;
}

const none: AccessOperations = new Map();
/** The summary of code without accesses and barriers. */
export const noAccesses: AccessSummary = { first: none, last: none, all: none, isBarrierFree: true };

/**
 * Returns true for a loop that ends in a `break` and never continues, as in `loop { …; break; }`.
 */
export function runsOnce({ body }: Extract<AnyNode, { kind: "for" | "while" | "loop" }>): boolean {
  return body.statements.at(-1)?.kind === "break" && !contains(body, (node) => node.kind === "continue");
}

/**
 * Returns the summary of a construct that jumps may leave or repeat at any point. Each of its
 * accesses may then be its last.
 */
export function withJumps(construct: AnyNode, accesses: AccessSummary): AccessSummary {
  const isJump = ({ kind }: AnyNode) => kind === "break" || kind === "continue" || kind === "return";
  return contains(construct, isJump) ? { ...accesses, last: accesses.all, isBarrierFree: true } : accesses;
}

/** Returns the operations of both `a` and `b`. */
export function unionOf(a: AccessOperations, b: AccessOperations): AccessOperations {
  if (a.size === 0 || a === b) return b;
  if (b.size === 0) return a;
  const both = new Map(a);
  for (const [variable, operations] of b) {
    const before = both.get(variable);
    both.set(variable, before ? union(before, operations) : operations);
  }
  return both;
}

function union(a: ReadonlyMap<string, Span>, b: ReadonlyMap<string, Span>): ReadonlyMap<string, Span> {
  return [...b.keys()].every((operation) => a.has(operation)) ? a : new Map([...b, ...a]);
}

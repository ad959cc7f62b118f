/** What a piece of code does to variables, seen from both ends. */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { GlobalVariable } from "../wgsl/ast.ts";
import { type AnyNode, walk } from "../wgsl/traverse.ts";

/** Variables with what is done to them, and where first. */
export type Operations = ReadonlyMap<GlobalVariable, ReadonlyMap<string, Span>>;

export interface AccessSummary {
  /** Before the first barrier, on some path. */
  readonly first: Operations;
  /** After the last barrier, on some path. */
  readonly last: Operations;
  readonly all: Operations;
  /** Some path has no barrier. */
  readonly open: boolean;
}

const none: Operations = new Map();
export const nothing: AccessSummary = { first: none, last: none, all: none, open: true };

/** Whether a loop ends in a `break` and nothing goes around that, as in `loop { …; break; }`. */
export function runsOnce({ body }: Extract<AnyNode, { kind: "for" | "while" | "loop" }>): boolean {
  let continues = false;
  walk(body, (node) => {
    if (node.kind === "continue") continues = true;
  });
  return body.statements.at(-1)?.kind === "break" && !continues;
}

/**
 * The accesses of a construct that a jump may leave or repeat in the middle: any of them may then
 * be its last.
 */
export function leaving(construct: AnyNode, accesses: AccessSummary): AccessSummary {
  let jumps = false;
  walk(construct, (node) => {
    if (node.kind === "break" || node.kind === "continue" || node.kind === "return") jumps = true;
  });
  return jumps ? { ...accesses, last: accesses.all, open: true } : accesses;
}

export function together(a: Operations, b: Operations): Operations {
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

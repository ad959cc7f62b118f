/** The buffers that a kernel gathers from or scatters to, as far as its text tells. */
import { reachableFrom } from "../analysis/callGraph.ts";
import { memoryAccesses } from "../analysis/memoryAccesses.ts";
import { addressSpaceOf } from "../analysis/places.ts";
import type { Expression, FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, children, walk } from "../wgsl/traverse.ts";

/** The buffers that have an index which is loaded from an element of a storage buffer: `a[b[i]]`, or with a `let` in between. */
export function gatheredBuffers(program: Program, kernel: FunctionDeclaration): ReadonlySet<GlobalVariable> {
  const functions = reachableFrom(program, [kernel]);
  const accesses = [...memoryAccesses(program, functions)];
  const known = new Set<unknown>();
  for (const [variable, own] of accesses) {
    if (addressSpaceOf(variable) !== "storage") continue;
    for (const { kind, expression } of own)
      if (kind === "load" && isElement(expression)) known.add(expression);
  }
  const usesKnown = (part: AnyNode): boolean => {
    let found = false;
    walk(part, (node) => {
      if (known.has(node) || (node.kind === "identifier" && known.has(program.targetOf(node)))) found = true;
      return !found;
    });
    return found;
  };
  // Names are declared before they are used.
  for (const fn of functions)
    walk(fn.body, (node) => {
      if (node.kind === "let" && usesKnown(node.initializer)) known.add(node);
    });
  const isGathered = ({ expression }: { expression: Expression }) => children(expression).some(usesKnown);
  return new Set(accesses.filter(([, own]) => own.some(isGathered)).map(([variable]) => variable));
}

const isElement = (place: Expression) =>
  place.kind === "index" || (place.kind === "memberAccess" && place.base.kind === "index");

import type { FunctionDeclaration } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, children, contains, walk } from "../wgsl/traverse.ts";
import { reachableFrom } from "./callGraph.ts";
import { memoryAccesses } from "./memoryAccesses.ts";
import { addressSpaceOf } from "./places.ts";

/**
 * Returns true if a kernel accesses storage at an index that depends on a loaded element of
 * storage, as in `a[b[i]]`. Variables and parameters between the two are followed, but not
 * conditions. The lanes of such a kernel rarely share cache lines.
 */
export function hasIndirectAccess(program: Program, kernel: FunctionDeclaration): boolean {
  // Callers come before their callees, so that the values of parameters are known.
  const functions = [...reachableFrom(program, [kernel])].reverse();
  const accesses = [...memoryAccesses(program, new Set(functions))].flatMap(([variable, own]) =>
    addressSpaceOf(variable) === "storage" ? own : [],
  );
  const loaded = new Set<unknown>();
  for (const { kind, expression } of accesses) {
    if (kind === "load" && hasIndex(expression)) loaded.add(expression);
  }
  const usesLoaded = (part: AnyNode): boolean =>
    contains(
      part,
      (node) => loaded.has(node) || (node.kind === "identifier" && loaded.has(program.targetOf(node))),
    );
  const spread = (node: AnyNode): void => {
    if (node.kind === "let" && usesLoaded(node.initializer)) loaded.add(node);
    if (node.kind === "var" && node.initializer && usesLoaded(node.initializer)) loaded.add(node);
    if (node.kind === "assign" && node.target?.kind === "identifier" && usesLoaded(node.value)) {
      loaded.add(program.targetOf(node.target));
    }
    const called = node.kind === "call" ? program.targetOf(node.callee) : undefined;
    if (node.kind !== "call" || called?.kind !== "function") return;
    node.args.forEach((argument, i) => {
      if (usesLoaded(argument)) loaded.add(called.parameters[i]);
    });
  };
  // A value that is assigned late in a loop may be used early in it, so this repeats until nothing
  // is added.
  for (let before = -1; loaded.size > before; ) {
    before = loaded.size;
    for (const fn of functions) walk(fn.body, spread);
  }
  return accesses.some(({ expression }) => children(expression).some(usesLoaded));
}

const hasIndex = (place: AnyNode): boolean =>
  place.kind === "index" || (place.kind === "memberAccess" && hasIndex(place.base));

import type { CallExpression, FunctionDeclaration } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import { reachableFrom } from "./callGraph.ts";
import { builtinFunction } from "./effects.ts";

/**
 * Returns true if a kernel uses what an atomic operation returns that also stores. The order of
 * invocations decides such values.
 */
export function usesAtomicResults(program: Program, kernel: FunctionDeclaration): boolean {
  for (const fn of reachableFrom(program, [kernel])) {
    const unused = new Set<CallExpression>();
    let isUsed = false;
    walk(fn.body, (node) => {
      if (node.kind === "callStatement") unused.add(node.call);
      if (node.kind !== "call" || unused.has(node)) return;
      const operation = builtinFunction(program, node);
      if (operation?.startsWith("atomic") && operation !== "atomicLoad") isUsed = true;
    });
    if (isUsed) return true;
  }
  return false;
}

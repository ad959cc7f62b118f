import type { CallExpression, FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import { reachableFrom } from "./callGraph.ts";
import { commutingClass } from "./commutingClass.ts";
import { barriers, ConflictAnalysis } from "./conflictingAccesses.ts";
import { builtinFunction } from "./effects.ts";
import { addressSpaceOf, rootVariable } from "./places.ts";

/**
 * Returns the workgroup variables whose value depends on the order in which invocations execute
 * atomic operations. These are the variables with an operation whose result is used, and those with
 * operations that do not commute and no barrier between them. Any other variable holds the same
 * value after each barrier in two workgroups that execute the same code.
 */
export function orderDependentVariables(
  program: Program,
  entryPoints: Iterable<FunctionDeclaration>,
): Set<GlobalVariable> {
  const found = new Set<GlobalVariable>();
  const functions = reachableFrom(program, entryPoints);
  const analysis = new ConflictAnalysis(program, {
    watched: "atomic",
    space: "workgroup",
    separators: barriers.get("workgroup")!,
    conflicts: (earlier, later) => earlier !== later,
    report: ({ variable }) => found.add(variable),
  });
  for (const fn of functions) {
    analysis.ofFunction(fn);
    const unused = new Set<CallExpression>();
    walk(fn.body, (node) => {
      if (node.kind === "callStatement") unused.add(node.call);
      if (node.kind !== "call" || !node.args[0]) return;
      const operation = builtinFunction(program, node);
      if (!operation?.startsWith("atomic") || operation === "atomicLoad") return;
      const variable = rootVariable(program, node.args[0])?.variable;
      if (!variable || addressSpaceOf(variable) !== "workgroup") return;
      if (!unused.has(node) || commutingClass(program, node, operation) === undefined) found.add(variable);
    });
  }
  return found;
}

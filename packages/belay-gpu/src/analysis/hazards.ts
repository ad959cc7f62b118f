/**
 * Finds accesses of one variable that no barrier separates, so that invocations could disturb each
 * other.
 */
import type { FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { reachableFrom } from "./callGraph.ts";
import { barriers, ConflictAnalysis, type ConflictingAccesses } from "./conflictingAccesses.ts";

/**
 * Returns the variables that an invocation both loads and stores without a barrier between, in
 * either order. If both replicas share one copy of such a variable, a store of the first replica
 * may precede a load of the second.
 */
export function hazardousVariables(
  program: Program,
  entryPoints: Iterable<FunctionDeclaration>,
): Set<GlobalVariable> {
  const hazards = new Set<GlobalVariable>();
  const functions = reachableFrom(program, entryPoints);
  for (const [space, separators] of barriers) {
    const analysis = new ConflictAnalysis(program, {
      watched: "plain",
      space,
      separators,
      conflicts: (earlier, later) => earlier !== later,
      report: ({ variable }) => hazards.add(variable),
    });
    for (const fn of functions) analysis.ofFunction(fn);
  }
  return hazards;
}

/**
 * Returns the storage variables that `entryPoint` may load after it stored there, even across
 * barriers. Each is returned with its first such pair of accesses.
 */
export function loadsAfterStores(program: Program, entryPoint: FunctionDeclaration): ConflictingAccesses[] {
  const found = new Map<GlobalVariable, ConflictingAccesses>();
  const analysis = new ConflictAnalysis(program, {
    watched: "plain",
    space: "storage",
    separators: [],
    conflicts: (earlier, later) => earlier === "store" && later === "load",
    report: (sequence) => {
      if (!found.has(sequence.variable)) found.set(sequence.variable, sequence);
    },
  });
  for (const fn of reachableFrom(program, [entryPoint])) analysis.ofFunction(fn);
  return [...found.values()];
}

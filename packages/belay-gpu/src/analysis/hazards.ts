/**
 * Where invocations could disturb each other, as no barrier stands between what they load from and
 * store to one variable.
 */
import type { FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { reachableFrom } from "./callGraph.ts";
import { barriers, type Sequence, SequenceAnalysis } from "./sequences.ts";

/**
 * The variables that an invocation loads and stores without a barrier between, in either order.
 * Where both replicas access one copy of such a variable, a store of the first may come before a
 * load of the second.
 */
export function hazardousVariables(
  program: Program,
  entryPoints: Iterable<FunctionDeclaration>,
): Set<GlobalVariable> {
  const hazards = new Set<GlobalVariable>();
  const functions = reachableFrom(program, entryPoints);
  for (const [space, separators] of barriers) {
    const analysis = new SequenceAnalysis(program, {
      watched: "plain",
      space,
      separators,
      disturbs: (earlier, later) => earlier !== later,
      report: ({ variable }) => hazards.add(variable),
    });
    for (const fn of functions) analysis.ofFunction(fn);
  }
  return hazards;
}

/**
 * The storage variables that `entryPoint` may load after it has stored there, whatever is between:
 * the first such pair of each.
 */
export function loadsAfterStores(program: Program, entryPoint: FunctionDeclaration): Sequence[] {
  const found = new Map<GlobalVariable, Sequence>();
  const analysis = new SequenceAnalysis(program, {
    watched: "plain",
    space: "storage",
    separators: [],
    disturbs: (earlier, later) => earlier === "store" && later === "load",
    report: (sequence) => {
      if (!found.has(sequence.variable)) found.set(sequence.variable, sequence);
    },
  });
  for (const fn of reachableFrom(program, [entryPoint])) analysis.ofFunction(fn);
  return [...found.values()];
}

import type { CallExpression, FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import { reachableFrom } from "./callGraph.ts";
import { commutingClass } from "./commutingClass.ts";
import { builtinFunction } from "./effects.ts";
import { addressSpaceOf, rootVariable } from "./places.ts";
import { barriers, SequenceAnalysis } from "./sequences.ts";

/**
 * The workgroup variables for which it matters in which order invocations execute atomic
 * operations: an operation's result is used, or operations that do not commute, loads among them,
 * have no barrier between. All others hold the same after each barrier in any workgroup that does
 * the same.
 */
export function orderDependentVariables(
  program: Program,
  entryPoints: Iterable<FunctionDeclaration>,
): Set<GlobalVariable> {
  const found = new Set<GlobalVariable>();
  const functions = reachableFrom(program, entryPoints);
  const analysis = new SequenceAnalysis(program, {
    watched: "atomic",
    space: "workgroup",
    separators: barriers.get("workgroup")!,
    disturbs: (earlier, later) => earlier !== later,
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

import { variablesOf } from "../analysis/callGraph.ts";
import { builtinFunction } from "../analysis/effects.ts";
import { addressSpaceOf, containsAtomic, rootVariable } from "../analysis/places.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { outsideSphere } from "../diagnostics/protection.ts";
import type { FunctionDeclaration } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import type { Redundancy } from "./contract.ts";

/** What the protected `functions` leave outside the sphere of replication, each with its place in the source, in order. */
export function coverageGaps(
  program: Program,
  functions: ReadonlySet<FunctionDeclaration>,
  redundancy: Redundancy,
): Diagnostic[] {
  if (redundancy === "none") return [];
  const gaps: Diagnostic[] = [];
  for (const variable of variablesOf(program, functions)) {
    const isInside = addressSpaceOf(variable) !== "workgroup" || redundancy === "intra-lds";
    if (isInside || !containsAtomic(program.declaredTypeOf(variable))) continue;
    gaps.push(outsideSphere(variable.nameSpan, `the memory of "${variable.name}"`, "atomics keep one copy"));
  }
  for (const fn of functions) {
    walk(fn.body, (node) => {
      if (node.kind !== "call") return;
      const operation = builtinFunction(program, node);
      const pointer = node.args[0];
      if (!operation?.startsWith("atomic") || !pointer) return;
      const name = rootVariable(program, pointer)?.variable.name;
      gaps.push(
        outsideSphere(
          node.span,
          `this ${operation}${name ? ` of "${name}"` : ""}`,
          "its operands are compared, but it is executed once",
        ),
      );
    });
  }
  return gaps.sort((a, b) => a.span.start - b.span.start);
}

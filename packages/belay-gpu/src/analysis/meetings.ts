/**
 * Where the replicas of an invocation must meet in the middle of a kernel, rather than at its end.
 */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import { reachableFrom } from "./callGraph.ts";
import { builtinFunction } from "./effects.ts";
import { hazardousVariables } from "./hazards.ts";
import { isShared, rootVariable, spaceOf } from "./places.ts";

export interface Meeting {
  readonly span: Span;
  readonly why: string;
}

/**
 * The first such place of each kind: a store to memory that the invocation also loads, with no
 * barrier between, as one replica's store must wait for the other's load; an atomic operation on
 * one copy of memory whose result both replicas need. `isInside` tells which variables have a copy
 * per replica.
 *
 * Requires access normal form.
 */
export function meetings(
  program: Program,
  entryPoint: FunctionDeclaration,
  isInside: (variable: GlobalVariable) => boolean,
): Meeting[] {
  const found = new Map<string, Meeting>();
  const add = (span: Span, why: string) => {
    if (!found.has(why)) found.set(why, { span, why });
  };
  const hazards = hazardousVariables(program, [entryPoint]);
  for (const fn of reachableFrom(program, [entryPoint])) {
    walk(fn.body, (node) => {
      if (node.kind === "assign" && node.target && isShared(spaceOf(program, node.target))) {
        const variable = rootVariable(program, node.target)?.variable;
        if (variable && hazards.has(variable) && !isInside(variable))
          add(node.span, `it stores to "${variable.name}", which it also loads`);
      }
      if (node.kind === "let" && node.initializer.kind === "call") {
        const operation = builtinFunction(program, node.initializer);
        const [pointer] = node.initializer.args;
        const variable = pointer && rootVariable(program, pointer)?.variable;
        if (operation?.startsWith("atomic") && variable && !isInside(variable))
          add(node.initializer.span, `both replicas need the result of this ${operation}`);
      }
    });
  }
  return [...found.values()];
}

import { builtinFunction } from "../analysis/effects.ts";
import { addressSpaceOf, containsAtomic, rootIdentifier } from "../analysis/places.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { outsideSphere } from "../diagnostics/protection.ts";
import type { Expression, FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import type { KernelFacts } from "./facts.ts";
import type { Settings } from "./settings.ts";

/** The sphere of replication of a protected program. */
export interface Sphere {
  /** Returns true for workgroup variables with one copy per replica. */
  isReplicated(variable: GlobalVariable): boolean;
  /** Returns true for variables whose atomic operations are executed once. */
  isExecutedOnce(variable: GlobalVariable): boolean;
}

/**
 * Returns warnings about the parts of the protected `kernels` that are outside the sphere of
 * replication, in source order.
 */
export function coverageGaps(
  program: Program,
  kernels: readonly KernelFacts[],
  { redundancy }: Pick<Settings, "redundancy">,
  { isReplicated, isExecutedOnce }: Sphere,
): Diagnostic[] {
  if (redundancy === "none" || redundancy === "selective") return [];
  const gaps: Diagnostic[] = [];
  const usersOf = new Map<FunctionDeclaration | GlobalVariable, string[]>();
  for (const { name, functions, variables } of kernels) {
    for (const used of [...functions, ...variables]) {
      const users = usersOf.get(used);
      if (users) users.push(name);
      else usersOf.set(used, [name]);
    }
  }
  const variables = [...usersOf.keys()].filter((used) => used.kind === "globalVariable");
  for (const variable of variables) {
    const isInside = addressSpaceOf(variable) !== "workgroup" || redundancy === "intra-lds";
    if (isInside || isReplicated(variable)) continue;
    const what = `the memory of "${variable.name}"`;
    gaps.push(outsideSphere(variable.nameSpan, usersOf.get(variable)!, what, "atomics keep one copy"));
  }
  const atomics = variables.filter((variable) => containsAtomic(program.declaredTypeOf(variable)));
  for (const [fn, users] of usersOf) {
    if (fn.kind !== "function") continue;
    walk(fn.body, (node) => {
      if (node.kind !== "call") return;
      const operation = builtinFunction(program, node);
      const pointer = node.args[0];
      if (!operation?.startsWith("atomic") || !pointer) return;
      const variable = pointedVariable(program, pointer);
      // A pointer parameter may point to any of them.
      if (!(variable ? [variable] : atomics).some(isExecutedOnce)) return;
      gaps.push(
        outsideSphere(
          node.span,
          users,
          `this ${operation}${variable ? ` of "${variable.name}"` : ""}`,
          "its operands are compared, but it is executed once",
        ),
      );
    });
  }
  return gaps.sort((a, b) => a.span.start - b.span.start);
}

/** Returns the module-scope variable that a pointer points to, unless a parameter decides it. */
function pointedVariable(program: Program, pointer: Expression): GlobalVariable | undefined {
  const identifier = rootIdentifier(pointer);
  const target = identifier && program.targetOf(identifier);
  if (target?.kind === "let") return pointedVariable(program, target.initializer);
  return target?.kind === "globalVariable" ? target : undefined;
}

/**
 * Returns a warning about the lanes that run both replicas under `passes`. These are all lanes if
 * neighbors in a subgroup matter, and else that of an odd invocation. The facts are those of the
 * program with its known overrides turned into constants.
 */
export function sharedLanes(
  { name, declaration, invocations = 0, dependsOnLanes }: KernelFacts,
  { pairing }: Pick<Settings, "pairing">,
): Diagnostic[] {
  const told = (what: string, why: string) => [outsideSphere(declaration.nameSpan, [name], what, why)];
  if (pairing !== "passes") return [];
  if (dependsOnLanes)
    return told(
      `each lane of "${name}"`,
      "its subgroup operations keep an invocation on its lane, which runs both replicas",
    );
  if (invocations % 2 === 0) return [];
  return told(
    `the lane of the last of ${invocations} invocations`,
    "it has no neighbor to swap with, and runs both replicas",
  );
}

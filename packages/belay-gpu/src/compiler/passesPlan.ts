/** Whether a kernel's replicas can run one after the other: known from its code in access normal form. */
import { reachableFrom } from "../analysis/callGraph.ts";
import { loadsAfterStores } from "../analysis/hazards.ts";
import { addressSpaceOf } from "../analysis/places.ts";
import type { Span } from "../diagnostics/diagnostic.ts";
import { leftAlone } from "../diagnostics/protection.ts";
import type { FunctionDeclaration } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import {
  type KernelPlan,
  loadsOfStoredTextures,
  namesOf,
  operationsOn,
  variablesExecutedOnce,
} from "./kernelPlan.ts";

/**
 * The second replica's pass is over before the first replica changes anything outside the workgroup. So neither may need
 * what the first one does there: what it has stored, or the result of an atomic operation that must run once. Workgroup
 * memory serves each pass by itself, and must then hold the same.
 */
export function passesPlan(program: Program, kernel: FunctionDeclaration): KernelPlan {
  const functions = reachableFrom(program, [kernel]);
  const once = variablesExecutedOnce(program, kernel, functions);
  const found = new Map<string, Span>();
  const add = (span: Span, why: string) => found.set(why, found.get(why) ?? span);
  for (const { variable, earlier, later } of loadsAfterStores(program, kernel)) {
    add(earlier, `it stores to "${variable.name}" before it loads from there`);
    add(later, `it loads from "${variable.name}" after it has stored there`);
  }
  for (const { name, variable, span, isUsed } of operationsOn(program, functions, once)) {
    if (addressSpaceOf(variable) === "workgroup")
      add(span, `the order of its atomic operations on "${variable.name}" matters`);
    else if (isUsed && name.startsWith("atomic")) add(span, `both replicas need the result of this ${name}`);
  }
  for (const { span } of loadsOfStoredTextures(program, functions))
    add(span, "it loads from a texture that it stores to");
  return {
    shadowed: new Set(),
    once: namesOf(once),
    blocking: false,
    inTurn: false,
    obstacles: [...found].map(([why, span]) =>
      leftAlone(
        "BELAY215",
        span,
        kernel.name,
        `${why}, and its replicas run one after the other`,
        "use the pairing adjacent",
      ),
    ),
  };
}

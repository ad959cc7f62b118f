/** What is decided for a kernel by itself, and the facts that it depends on, from its code in access normal form. */
import type { Arrival } from "../analysis/arrival.ts";
import { storageAccesses } from "../analysis/bindings.ts";
import {
  builtinFunction,
  isTextureInPlace,
  isTextureStore,
  textureLoadsInPlace,
} from "../analysis/effects.ts";
import { orderDependentVariables } from "../analysis/orderDependentVariables.ts";
import { rootVariable } from "../analysis/places.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import type { CallExpression, FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";

export interface KernelPlan {
  /** The buffers that the kernel changes in place, of which the second replica has its own copy: names of variables. */
  readonly shadowed: ReadonlySet<string>;
  /** The variables whose atomic operations must run once, as their order matters or their memory is not replicated. */
  readonly once: ReadonlySet<string>;
  /** Whether twins wait for each other (`InterGroup.blocking`). */
  readonly blocking: boolean;
  /** Whether it needs no copies where all second replicas run before the first ones. */
  readonly inTurn: boolean;
  /** Set where then they may run at once, too, as whoever comes last of two replicas stores. */
  readonly arrival?: ArrivalPlan;
  /** Why the kernel must be left alone. */
  readonly obstacles: readonly Diagnostic[];
}

export interface ArrivalPlan {
  /** Where a replica arrives. */
  readonly at: Arrival;
  /** Names of the variables of the buffers that it changes in place. */
  readonly inPlace: ReadonlySet<string>;
  /** Words of arrivals for each workgroup. */
  readonly words: number;
}

/**
 * Both replicas may execute atomic operations on workgroup memory, of which each has its own, if their order does not
 * matter, and load from storage that nobody changes.
 */
export function variablesExecutedOnce(
  program: Program,
  kernel: FunctionDeclaration,
  functions: ReadonlySet<FunctionDeclaration>,
): Set<GlobalVariable> {
  const changed = [...storageAccesses(program, functions)].filter(([, access]) => access !== "read");
  return new Set([...changed.map(([variable]) => variable), ...orderDependentVariables(program, [kernel])]);
}

/** A call of an atomic or other built-in function that takes a pointer to memory. */
export interface MemoryOperation {
  readonly name: string;
  readonly span: Span;
  readonly variable: GlobalVariable;
  /** Whether its result is. */
  readonly isUsed: boolean;
}

export function operationsOn(
  program: Program,
  functions: Iterable<FunctionDeclaration>,
  variables: ReadonlySet<GlobalVariable>,
): MemoryOperation[] {
  const found: MemoryOperation[] = [];
  for (const fn of functions) {
    const unused = new Set<CallExpression>();
    walk(fn.body, (node) => {
      if (node.kind === "callStatement") unused.add(node.call);
      const name = node.kind === "call" ? builtinFunction(program, node) : undefined;
      if (node.kind !== "call" || !name || node.args[0]?.kind !== "unary") return;
      const variable = rootVariable(program, node.args[0])?.variable;
      if (variable && variables.has(variable))
        found.push({ name, span: node.span, variable, isUsed: !unused.has(node) });
    });
  }
  return found;
}

/** The loads from textures of functions that also store to such. */
export function loadsOfStoredTextures(
  program: Program,
  functions: ReadonlySet<FunctionDeclaration>,
): CallExpression[] {
  const bodies = [...functions].map((fn) => fn.body);
  let stores = false;
  for (const body of bodies) {
    walk(body, (node) => {
      if (node.kind === "call" && isTextureStore(program, node) && isTextureInPlace(program, node))
        stores = true;
    });
  }
  return stores ? bodies.flatMap((body) => textureLoadsInPlace(program, body)) : [];
}

export const namesOf = (variables: Iterable<GlobalVariable>) =>
  new Set([...variables].map((variable) => variable.name));

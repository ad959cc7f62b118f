/** Who calls whom, and what each entry point reaches. */
import type { FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";

export type Stage = "compute" | "vertex" | "fragment";

/** The shader stage of an entry point; undefined for an ordinary function. */
export function stageOf(fn: FunctionDeclaration): Stage | undefined {
  const stages = ["compute", "vertex", "fragment"] as const;
  return stages.find((stage) => fn.attributes.some((attribute) => attribute.name === stage));
}

/** The functions of a module, in source order. */
export function functionsOf(program: Program): FunctionDeclaration[] {
  return program.module.declarations.filter((declaration) => declaration.kind === "function");
}

/**
 * The functions that `roots` reach by calls, the roots included, each behind those it calls. WGSL
 * has no recursion and no indirect calls.
 */
export function reachableFrom(
  program: Program,
  roots: Iterable<FunctionDeclaration>,
): Set<FunctionDeclaration> {
  const reached = new Set<FunctionDeclaration>();
  // Its own stack, as chains of calls may be longer than the call stack. What is on it twice is
  // done by then.
  const open = [...roots].reverse();
  const entered = new Set<FunctionDeclaration>();
  for (let fn = open.at(-1); fn; fn = open.at(-1)) {
    if (entered.has(fn)) {
      reached.add(fn);
      open.pop();
      continue;
    }
    entered.add(fn);
    for (const callee of usesOf(program, fn).callees) if (!entered.has(callee)) open.push(callee);
  }
  return reached;
}

/** The module-scope variables that the bodies of `functions` name. */
export function variablesOf(program: Program, functions: Iterable<FunctionDeclaration>): Set<GlobalVariable> {
  const variables = new Set<GlobalVariable>();
  for (const fn of functions) for (const variable of usesOf(program, fn).variables) variables.add(variable);
  return variables;
}

/** What a function names of its module. */
interface Uses {
  /** In the order in which they are called last. */
  readonly callees: ReadonlySet<FunctionDeclaration>;
  readonly variables: ReadonlySet<GlobalVariable>;
}

/** Many analyses ask, each for all that a kernel reaches. */
const known = new WeakMap<Program, Map<FunctionDeclaration, Uses>>();

function usesOf(program: Program, fn: FunctionDeclaration): Uses {
  const ofProgram = known.get(program) ?? new Map<FunctionDeclaration, Uses>();
  known.set(program, ofProgram);
  const uses = ofProgram.get(fn) ?? findUses(program, fn);
  ofProgram.set(fn, uses);
  return uses;
}

function findUses(program: Program, fn: FunctionDeclaration): Uses {
  const callees = new Set<FunctionDeclaration>();
  const variables = new Set<GlobalVariable>();
  walk(fn, (node) => {
    if (node.kind !== "identifier") return;
    const target = program.targetOf(node);
    if (target?.kind === "globalVariable") variables.add(target);
    if (target?.kind !== "function") return;
    callees.delete(target);
    callees.add(target);
  });
  return { callees, variables };
}

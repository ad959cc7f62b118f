/** Computes the call graph of a module, and the functions that an entry point reaches. */
import type { FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";

/** A shader stage. */
export type Stage = "compute" | "vertex" | "fragment";

/** Returns the shader stage of an entry point, or undefined for an ordinary function. */
export function stageOf(fn: FunctionDeclaration): Stage | undefined {
  const stages = ["compute", "vertex", "fragment"] as const;
  return stages.find((stage) => fn.attributes.some((attribute) => attribute.name === stage));
}

/** Returns the functions of a module in source order. */
export function functionsOf(program: Program): FunctionDeclaration[] {
  return program.module.declarations.filter((declaration) => declaration.kind === "function");
}

/**
 * Returns the functions that `roots` reach by calls, including the roots. Each follows the
 * functions that it calls. WGSL has neither recursion nor indirect calls.
 */
export function reachableFrom(
  program: Program,
  roots: Iterable<FunctionDeclaration>,
): ReadonlySet<FunctionDeclaration> {
  const sets = [...roots].map((root) => reachedBy(program, root));
  return sets.length === 1 ? sets[0]! : new Set(sets.flatMap((each) => [...each]));
}

/** The functions that one reaches, by program: many analyses ask, each for the same kernel. */
const knownReach = new WeakMap<Program, Map<FunctionDeclaration, ReadonlySet<FunctionDeclaration>>>();

function reachedBy(program: Program, root: FunctionDeclaration): ReadonlySet<FunctionDeclaration> {
  const ofProgram = knownReach.get(program) ?? new Map();
  knownReach.set(program, ofProgram);
  const reached = ofProgram.get(root) ?? findReached(program, root);
  ofProgram.set(root, reached);
  return reached;
}

function findReached(program: Program, root: FunctionDeclaration): Set<FunctionDeclaration> {
  const reached = new Set<FunctionDeclaration>();
  // The traversal has its own stack, because call chains may be longer than the call stack. A
  // function that is on it twice is finished by its second turn.
  const open = [root];
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

/** Returns the module-scope variables that `functions` name. */
export function variablesOf(program: Program, functions: Iterable<FunctionDeclaration>): Set<GlobalVariable> {
  const variables = new Set<GlobalVariable>();
  for (const fn of functions) for (const variable of usesOf(program, fn).variables) variables.add(variable);
  return variables;
}

/** The module-scope declarations that a function names. */
interface Uses {
  /** The called functions, ordered by their last call. */
  readonly callees: ReadonlySet<FunctionDeclaration>;
  readonly variables: ReadonlySet<GlobalVariable>;
}

/** The uses of each function. Many analyses ask for all functions of a kernel. */
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

/**
 * Rewrites loads from protected buffers to verify them, and stores to keep check words up to date.
 *
 * Before:   x = a[i];
 * After:    fn load(g) -> W {
 *             let data = granules_a[g];
 *             let s = syndrome(data, arena[table[0].x + g]);
 *             if (s != 0) { let right = repaired(data, 0, g, s); tell(); return right; }
 *             return data;
 *           }
 *           x = load_1(i);
 *
 * Errors are corrected in registers, counted and recorded in the report. The host corrects memory:
 * a kernel that wrote corrections back would race with its other invocations.
 *
 * Requires: access normal form, declareReport.
 * Ensures:  a valid module with the bindings of the arena and the table.
 * Order:    last. Redundancy then sees the program's own accesses.
 * Source:   Maruyama, Nukada and Matsuoka 2009, section 4, with check words apart from the data.
 */
import { builtinFunction } from "../../analysis/effects.ts";
import { rootVariable } from "../../analysis/places.ts";
import { uniformity } from "../../analysis/uniformity.ts";
import { uninitializedInLoops } from "../../analysis/uninitialized.ts";
import type { CallExpression, Declaration, FunctionDeclaration, Module, Statement } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { walk } from "../../wgsl/traverse.ts";
import { mapFunctions } from "../shared/mapFunctions.ts";
import type { Names } from "../shared/names.ts";
import { AccessFunctions, type UniformGranules } from "./accessFunctions.ts";
import type { CheckWordsOptions } from "./checkWords.ts";
import { patternsIn } from "./coalescedPattern.ts";
import { GranuleFunctions } from "./granuleFunctions.ts";
import { LineAccessFunctions } from "./lineAccess.ts";
import { LineRuns } from "./lineRuns.ts";
import { type CheckedKernel, type MadeFunctions, PlaceFunctions } from "./placeFunctions.ts";
import { WordBuffers } from "./wordBuffers.ts";

/** The kernels to rewrite, and the bindings of check words. */
export interface ProtectMemoryOptions extends CheckWordsOptions {
  /**
   * The functions of each kernel and their protected variables. A function that accesses such a
   * variable belongs to one kernel.
   */
  readonly kernels: readonly (CheckedKernel & {
    readonly entryPoint: string;
    readonly functions: ReadonlySet<FunctionDeclaration>;
  })[];
}

/** Returns the module whose kernels verify and encode protected buffers. */
export function protectMemory(program: Program, names: Names, options: ProtectMemoryOptions): Module {
  const granules = new GranuleFunctions(names, options);
  const made: MadeFunctions = new Map();
  const uniform = uniformity(program);
  const hasEffects = effectsOf(program);
  const lasting = uninitializedInLoops(program.module);
  const rewritten = new Map<FunctionDeclaration, FunctionDeclaration>();
  const functionsMade: { readonly of: FunctionDeclaration; readonly fn: FunctionDeclaration }[] = [];
  for (const { functions, entryPoint, ...kernel } of options.kernels) {
    const uniforms: UniformGranules = new Map();
    const places = new PlaceFunctions(program, names, granules, { kernel, made });
    const patternsOf = patternsIn(program, [...functions].find(({ name }) => name === entryPoint)!);
    const { sums, findings } = granules;
    const lineAccess = new LineAccessFunctions(program, names, granules, { places, patternsOf });
    const buffers = new WordBuffers(program, names, {
      access: new AccessFunctions(names, granules, { kernel, uniforms, places }),
      lines: new LineRuns(names, { sums, access: lineAccess, findings, arena: kernel.arena }),
      findings,
      uniform,
      hasEffects,
      lasting,
    });
    for (const fn of functions) rewritten.set(fn, buffers.function(fn));
    functionsMade.push(...buffers.made);
    const hasLines = [...kernel.checked.values()].some(({ pieceBytes }) => pieceBytes);
    for (const fn of functions) {
      if (fn.name !== entryPoint) continue;
      const kept = keeping(rewritten.get(fn)!, names, uniforms);
      rewritten.set(fn, hasLines ? knowingLane(kept, names, sums.lane()) : kept);
    }
  }
  const module = mapFunctions(program.module, (fn) => rewritten.get(fn) ?? fn);
  const named = new Set<string>();
  for (const declaration of [...module.declarations, ...functionsMade.map(({ fn }) => fn)]) {
    walk(declaration, (node) => {
      if (node.kind === "identifier") named.add(node.name);
    });
  }
  const replaced = new Set([
    ...functionsMade.map(({ of }) => of.name),
    ...options.kernels.flatMap(({ checked }) => [...checked.keys()]),
  ]);
  const isGone = (each: Declaration) => "name" in each && !named.has(each.name) && replaced.has(each.name);
  return {
    ...module,
    declarations: [
      ...module.declarations.filter((each) => !isGone(each)),
      ...functionsMade.map(({ fn }) => fn),
      ...granules.declarations,
      ...[...made.values()].flatMap(({ declarations }) => declarations),
    ],
  };
}

/**
 * Returns the entry point with its kept granules loaded, after the statements that set generated
 * variables.
 */
function keeping(fn: FunctionDeclaration, names: Names, uniforms: UniformGranules): FunctionDeclaration {
  const { statements } = fn.body;
  const isOwn = (statement: Statement) =>
    statement.kind === "assign" &&
    statement.target?.kind === "identifier" &&
    names.isGenerated(statement.target.name);
  const known = statements.findIndex((statement) => !isOwn(statement));
  const loads = [...uniforms].flatMap(
    ([kept, { load }]) => quote(fn.nameSpan).statements`${kept} = ${load};`,
  );
  return {
    ...fn,
    body: { ...fn.body, statements: [...statements.slice(0, known), ...loads, ...statements.slice(known)] },
  };
}

/** Returns the entry point with a variable set to the number of its lane. */
function knowingLane(fn: FunctionDeclaration, names: Names, lane: string): FunctionDeclaration {
  const builtin = "subgroup_invocation_id";
  const own = fn.parameters.find(({ attributes }) =>
    attributes.some(({ args: [arg] }) => arg?.kind === "identifier" && arg.name === builtin),
  );
  const name = own?.name ?? names.the(`in_${builtin}`);
  const [made] = quote(fn.nameSpan)
    .declarations`fn f(@builtin(${builtin}) ${name}: u32) { ${lane} = ${name}; }`;
  if (made?.kind !== "function") throw new Error("a function is a function");
  return {
    ...fn,
    parameters: own ? fn.parameters : [...fn.parameters, ...made.parameters],
    body: { ...fn.body, statements: [...made.body.statements, ...fn.body.statements] },
  };
}

/**
 * Returns a test if a call may change what other invocations see, or wait for them. Loads must not
 * move before such a call.
 */
function effectsOf(program: Program): (call: CallExpression) => boolean {
  const known = new Map<FunctionDeclaration, boolean>();
  const inFunction = (fn: FunctionDeclaration): boolean => {
    const before = known.get(fn);
    if (before !== undefined) return before;
    let found = false;
    walk(fn.body, (node) => {
      if (node.kind === "call" && inCall(node)) found = true;
      const target = node.kind === "assign" || node.kind === "increment" ? node.target : null;
      if (target && rootVariable(program, target)) found = true;
    });
    known.set(fn, found);
    return found;
  };
  const inCall = (call: CallExpression): boolean => {
    const name = builtinFunction(program, call);
    if (name) return /^atomic|Barrier$|^workgroupUniformLoad$|^textureStore$/.test(name);
    const target = program.targetOf(call.callee);
    if (target?.kind !== "function") return false;
    return call.args.some((arg) => program.typeOf(arg).kind === "pointer") || inFunction(target);
  };
  return inCall;
}

/** Translates a compute entry point, and the functions that it reaches, to JavaScript. */
import { type BindingPoint, bindingPointOf } from "../analysis/bindings.ts";
import { builtinValueOf } from "../analysis/builtinValueOf.ts";
import { reachableFrom, variablesOf } from "../analysis/callGraph.ts";
import { addressSpaceOf } from "../analysis/places.ts";
import type { FunctionDeclaration, GlobalVariable, Parameter } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import type { TextureType, Type } from "../wgsl/types.ts";
import { CodeWriter, type FloatMode, type SubgroupSite, textOf } from "./codeWriter.ts";
import { emitExpression, type KernelTranslation, parameterValue, waits } from "./expressions.ts";
import type { OnUnknown } from "./library.ts";
import type { RaceDetector } from "./races.ts";
import { emitBlock } from "./statements.ts";
import { Unsupported } from "./unsupported.ts";
import type { EmittedValue } from "./values.ts";

/** A buffer or a texture that the generated code takes. */
export interface TranslatedBinding extends BindingPoint {
  readonly variable: GlobalVariable;
  /** Absent for a buffer. */
  readonly texture?: TextureType;
}

/** The JavaScript of a kernel. */
export interface TranslatedKernel {
  /** The text of a function of the library, with the parameter `lib`. */
  readonly text: string;
  readonly bindings: readonly TranslatedBinding[];
  readonly sites: readonly SubgroupSite[];
  /** True if invocations wait for each other, so that the code is a generator. */
  readonly waits: boolean;
  /** The cells of an invocation. */
  readonly cells: number;
}

/** The built-in values, by their index in `ids`; vectors take three. */
export const idIndices: Readonly<Record<string, number>> = {
  local_invocation_id: 0,
  local_invocation_index: 3,
  global_invocation_id: 4,
  workgroup_id: 7,
  num_workgroups: 10,
  subgroup_size: 13,
  subgroup_invocation_id: 14,
  subgroup_id: 15,
  num_subgroups: 16,
  workgroup_index: 17,
  global_invocation_index: 18,
};
/** The number of elements of `ids`. */
export const idCount = 19;

/** The most numbers in the variables of a workgroup and an invocation: 128 MiB. */
const mostCells = 2 ** 24;

/** The parts of the executor that a kernel may need. */
interface TranslatedParts extends Partial<Pick<KernelTranslation, "textures" | "matrices" | "isInexact">> {
  readonly races?: RaceDetector;
  readonly onUnknown?: OnUnknown;
}

/**
 * Translates a kernel. Throws `Unsupported` for a construct that the executor does not have, such
 * as textures without the part that supports them.
 */
export function translateKernel(
  program: Program,
  kernel: FunctionDeclaration,
  mode: FloatMode,
  { races, textures, matrices, isInexact, onUnknown }: TranslatedParts,
): TranslatedKernel {
  const code = new CodeWriter(mode, races !== undefined, onUnknown !== undefined);
  const functions = [...reachableFrom(program, [kernel])];
  const names = new Map(functions.map((fn, i) => [fn, `f${i}`]));
  const waiting = waitingOf(program, functions);
  const cx: KernelTranslation = {
    program,
    code,
    values: new Map(),
    places: new Map(),
    functions: names,
    waiting,
    textures,
    matrices,
    isInexact,
  };

  const bindings: TranslatedBinding[] = [];
  const privates: GlobalVariable[] = [];
  for (const variable of variablesOf(program, functions)) {
    const space = addressSpaceOf(variable);
    const type = program.declaredTypeOf(variable);
    if (space === "workgroup") cx.places.set(variable, code.reserve("workgroup", type));
    else if (space === "private") {
      cx.places.set(variable, code.reserve("invocation", type));
      privates.push(variable);
    } else bindings.push(bind(cx, variable));
  }
  const bodies = functions.map((fn) => emitFunction(cx, fn));
  const body = emitEntry(cx, kernel, privates);
  if (code.cells.workgroup + code.cells.invocation > mostCells)
    throw new Unsupported(`variables of more than ${mostCells} numbers`, kernel.nameSpan);
  const buffers = bindings.flatMap(({ texture }, i) => (texture ? [`B${i}`] : [`B${i}`, `O${i}`, `E${i}`]));
  const { workgroup } = code.cells;
  const upper = (cells: string) => (mode === "intervals" ? `new Float64Array(${cells})` : "null");
  const lows = code.constants.map(({ low }) => textOf(low)).join(", ");
  const highs = code.constants.map(({ high }) => textOf(high)).join(", ");
  const text = [
    '"use strict";',
    `const { ${["r", ...(races ? ["races"] : []), ...code.used].join(", ")} } = lib;`,
    `const K = [${lows}], KH = [${highs}], ret = new Float64Array(64);`,
    `const W = new Float64Array(${workgroup}), WH = ${upper(String(workgroup))};`,
    `let at = 0, fuel = 0${buffers.map((name) => `, ${name}`).join("")};`,
    ...bodies,
    body,
    "return {",
    "main,",
    "at: () => at,",
    "fuel: () => fuel,",
    "refuel(limit) { fuel = limit; },",
    `begin() { W.fill(0); ${mode === "intervals" ? "WH.fill(0);" : ""}`,
    `${races ? "races.beginWorkgroup(W);" : ""} },`,
    `bind(values) { ${buffers.length > 0 ? `[${buffers.join(", ")}] = values;` : ""} },`,
    "};",
  ].join("\n");
  return {
    text,
    bindings,
    sites: code.sites,
    waits: waiting.has(kernel),
    cells: code.cells.invocation,
  };

  function bind({ program: of }: KernelTranslation, variable: GlobalVariable): TranslatedBinding {
    const point = bindingPointOf(of, variable);
    const type = of.declaredTypeOf(variable);
    const i = bindings.length;
    if (point && type.kind === "texture" && textures && type.name !== "texture_external") {
      cx.values.set(variable, { kind: "texture", type, atom: `B${i}` });
      return { ...point, variable, texture: type };
    }
    if (!point || type.kind === "texture" || type.kind === "sampler")
      throw new Unsupported(
        point ? `${type.kind}s` : `variables in the address space "${addressSpaceOf(variable)}"`,
        variable.nameSpan,
      );
    cx.places.set(variable, {
      kind: "bytes",
      type,
      buffer: `B${i}`,
      at: { constant: 0, atoms: [`O${i}`] },
      end: `E${i}`,
    });
    return { ...point, variable };
  }
}

/**
 * Returns the functions that wait for other invocations, by themselves or in one that they call.
 * `functions` have each one after those that it calls.
 */
function waitingOf(
  program: Program,
  functions: readonly FunctionDeclaration[],
): ReadonlySet<FunctionDeclaration> {
  const waiting = new Set<FunctionDeclaration>();
  for (const fn of functions) {
    walk(fn.body, (node) => {
      if (node.kind !== "call") return;
      const target = program.targetOf(node.callee);
      if (target?.kind === "function" ? waiting.has(target) : isBuiltin(target) && waits(program, node))
        waiting.add(fn);
    });
  }
  return waiting;
}

const isBuiltin = (target: ReturnType<Program["targetOf"]>): boolean =>
  target?.kind === "builtin" && target.category === "function";

function emitFunction(cx: KernelTranslation, fn: FunctionDeclaration): string {
  const { code, program } = cx;
  code.lines = [];
  code.hoisted = [];
  const names = fn.parameters.flatMap((parameter) => {
    const emitted = parameterValue(code, program.declaredTypeOf(parameter));
    cx.values.set(parameter, emitted.value);
    return emitted.names;
  });
  // A chain of functions that each call the next twice ends no sooner than a loop.
  code.line(`if (--fuel < 0) ${code.library("outOfFuel")}();`);
  emitBlock(cx, fn.body);
  const head = `function${cx.waiting.has(fn) ? "*" : ""} ${cx.functions.get(fn)}`;
  return [`${head}(${["P", "PH", "X", ...names].join(", ")}) {`, ...declared(code), ...code.lines, "}"].join(
    "\n",
  );
}

function declared({ hoisted }: CodeWriter): string[] {
  return hoisted.length > 0 ? [`let ${hoisted.map((name) => `${name} = 0`).join(", ")};`] : [];
}

/** Emits the function that initializes the variables of an invocation and calls the kernel. */
function emitEntry(
  cx: KernelTranslation,
  kernel: FunctionDeclaration,
  privates: readonly GlobalVariable[],
): string {
  const { code } = cx;
  code.lines = [];
  code.hoisted = [];
  for (const variable of privates) {
    const place = cx.places.get(variable)!;
    if (variable.initializer) code.store(place, emitExpression(cx, variable.initializer));
    else code.clear(place);
  }
  code.line(`P[0] = ids[${idIndices.subgroup_invocation_id}];`);
  const atoms = kernel.parameters.flatMap((parameter) => inputAtoms(cx, parameter));
  const call = `${cx.functions.get(kernel)}(${["P", "PH", "X", ...atoms].join(", ")})`;
  const star = cx.waiting.has(kernel) ? "*" : "";
  return [
    `function${star} main(P, PH, X, ids) {`,
    ...declared(code),
    ...code.lines,
    `${star && "yield* "}${call};`,
    "}",
  ].join("\n");
}

/** Returns the atoms of an entry point's parameter: a built-in value, or a structure of them. */
function inputAtoms({ code, program }: KernelTranslation, parameter: Parameter): string[] {
  const type = program.declaredTypeOf(parameter);
  const input = (name: string, of: Type): string[] => {
    const first = idIndices[name];
    if (first === undefined) throw new Unsupported(`the built-in value "${name}"`, parameter.nameSpan);
    return of.kind === "vector" ? [0, 1, 2].map((i) => `ids[${first + i}]`) : [`ids[${first}]`];
  };
  if (type.kind !== "struct") return input(builtinValueOf(parameter.attributes), type);
  const place = code.reserve("invocation", type);
  const members = type.declaration?.members ?? [];
  members.forEach((member, i) => {
    const atoms = input(builtinValueOf(member.attributes), type.members[i]!.type);
    const value: EmittedValue = {
      kind: "scalars",
      type: type.members[i]!.type,
      scalars: atoms.map((atom) => [code.temp(atom)]),
    };
    code.store(code.memberOf(place, type, i), value);
  });
  return [String(place.at.constant)];
}

/** What comes before protection: access normal form, and what can be told about a kernel only then. */
import { functionsOf } from "../analysis/callGraph.ts";
import { meetings } from "../analysis/meetings.ts";
import { waitsOf } from "../analysis/waits.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { leftAlone } from "../diagnostics/protection.ts";
import { desugarLoops } from "../transforms/normalize/desugarLoops.ts";
import { expandSwizzles } from "../transforms/normalize/expandSwizzles.ts";
import { normalizeAccesses } from "../transforms/normalize/normalizeAccesses.ts";
import { resolvePointers } from "../transforms/normalize/resolvePointers.ts";
import { splitSharedFunctions } from "../transforms/normalize/splitSharedFunctions.ts";
import { splitChains } from "../transforms/redundancy/splitChains.ts";
import type { Names } from "../transforms/shared/names.ts";
import type { FunctionDeclaration, GlobalVariable, Module } from "../wgsl/ast.ts";
import { print } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import { versionsOf } from "../wgsl/resolve/index.ts";
import { interGroupPlan, type KernelPlan, namesOf, passesPlan } from "./kernelPlan.ts";
import { bracketedMemory, isSumming, type MemoryPlan, memoryPlan } from "./memoryPlan.ts";
import type { Settings } from "./settings.ts";
import { replicatedVariables } from "./workgroups.ts";

export interface Prepared {
  /** In access normal form. */
  readonly program: Program;
  /** The same before that. */
  readonly unique: Program;
  /** The entry points that can be protected. */
  readonly entryPoints: ReadonlySet<string>;
  /** Why others can't. */
  readonly diagnostics: readonly Diagnostic[];
  /** What a kernel needs, by entry point, that is Inter-Group or runs in passes; empty for others. */
  readonly plans: ReadonlyMap<string, KernelPlan>;
  /** What kernels do about memory that has codes, by entry point. */
  readonly memory: ReadonlyMap<string, MemoryPlan>;
  /** The workgroup variables of which each replica has a copy, by name: what is stored there is not compared. */
  readonly replicated: ReadonlySet<string>;
}

type PreparationSettings = Pick<
  Settings,
  | "redundancy"
  | "pairing"
  | "check"
  | "channel"
  | "limits"
  | "injectFaults"
  | "subgroups"
  | "subgroupSize"
  | "memory"
>;

/**
 * Prepares a program, whose names mean one thing each, for the protection of those of its `entryPoints` that fit what
 * is asked for. Throws `SpecializationLimit` where pointers have too many shapes.
 */
export function prepare(
  unique: Program,
  names: Names,
  settings: PreparationSettings,
  entryPoints: ReadonlySet<string>,
): Prepared {
  if (entryPoints.size === 0)
    return {
      program: unique,
      unique,
      entryPoints,
      diagnostics: [],
      plans: new Map(),
      memory: new Map(),
      replicated: new Set(),
    };
  const inTurn = settings.pairing === "passes";
  const apart = settings.redundancy === "inter" || inTurn;
  const { coded } = settings.memory;
  const program = normalized(unique, names, entryPoints, apart || coded.length > 0);
  const kernels = functionsOf(program).filter(({ name }) => entryPoints.has(name));
  const replicated = namesOf(replicatedVariables(program, kernels, settings));
  const fit = new Set(entryPoints);
  const plans = new Map<string, KernelPlan>();
  const diagnostics: Diagnostic[] = [];
  for (const kernel of kernels) {
    const plan = inTurn
      ? passesPlan(program, kernel)
      : apart
        ? interGroupPlan(program, kernel, settings)
        : undefined;
    const obstacles = [
      ...(settings.redundancy === "none" ? [] : waits(program, kernel)),
      ...(plan ? plan.obstacles : tooManyMeetings(program, kernel, settings, replicated)),
    ];
    if (obstacles.length > 0) fit.delete(kernel.name);
    else if (plan) plans.set(kernel.name, plan);
    diagnostics.push(...obstacles);
  }
  const lanes = settings.redundancy.startsWith("intra") ? 0 : settings.subgroupSize;
  const isPlain = settings.redundancy === "none" && !settings.injectFaults;
  const memory = new Map(
    kernels.map((kernel) => {
      const others = 1 + (plans.get(kernel.name)?.shadowed.size ?? 0);
      const options = { limits: settings.limits, others, lanes, isPlain };
      return [kernel.name, memoryPlan(program, kernel, coded, options)];
    }),
  );
  // A kernel that checks nothing is as good as it was.
  if (isPlain) for (const [name, plan] of memory) if (!plan.arena && !isSumming(plan)) fit.delete(name);
  if (fit.size === entryPoints.size) {
    diagnostics.push(...bracketedMemory([...memory]));
    return { program, unique, entryPoints, diagnostics, plans, memory, replicated };
  }
  diagnostics.push(...bracketedMemory([...memory].filter(([name]) => !fit.has(name))));
  const others = prepare(unique, names, settings, fit);
  return { ...others, diagnostics: [...diagnostics, ...others.diagnostics] };
}

/** Loops that wait for other invocations, which need not run at the same time where each of them runs twice. */
function waits(program: Program, kernel: FunctionDeclaration): Diagnostic[] {
  return waitsOf(program, kernel).map(({ span, variable }) =>
    leftAlone(
      "BELAY217",
      span,
      kernel.name,
      `this loop waits until another invocation changes "${variable.name}", and replicas change which invocations run at the same time`,
      "end the kernel where it waits, and dispatch the rest",
    ),
  );
}

/** Where replicas in different subgroups would have to meet before the end. */
function tooManyMeetings(
  program: Program,
  kernel: FunctionDeclaration,
  { pairing, check }: PreparationSettings,
  replicated: ReadonlySet<string>,
): Diagnostic[] {
  if (pairing !== "subgroups") return [];
  const help = "use the pairing adjacent or half-subgroup";
  // Where nothing is compared, stores need no meeting.
  const isFree = ({ name }: GlobalVariable) => check === "none" || replicated.has(name);
  return meetings(program, kernel, isFree).map(({ span, why }) =>
    leftAlone("BELAY212", span, kernel.name, `${why}, and its replicas meet only at the end`, help),
  );
}

/**
 * Accesses stand alone and name their variable, in what the entry points reach and nothing else does; with `apart`, no
 * two of them reach the same function.
 */
function normalized(
  unique: Program,
  names: Names,
  entryPoints: ReadonlySet<string>,
  apart: boolean,
): Program {
  const groups = apart ? [...entryPoints].map((name) => new Set([name])) : [entryPoints];
  const checked = checkedVersionsOf(unique);
  let program = checked(splitSharedFunctions(unique, names, groups));
  program = checked(splitChains(program.module, names));
  program = checked(desugarLoops(program));
  program = checked(resolvePointers(program, names));
  program = checked(normalizeAccesses(program, names));
  return checked(expandSwizzles(program, names));
}

/**
 * Types what transforms make of a program, each of what the one before has made. A transform that leaves an invalid module has
 * broken its contract.
 */
export function checkedVersionsOf(program: Program): (module: Module) => Program {
  const versionOf = versionsOf(program);
  let latest = program;
  return (module) => {
    if (module === latest.module) return latest;
    latest = versionOf(module);
    const [error] = latest.diagnostics.filter((d) => d.severity === "error");
    if (error) throw new Error(`a transform left an invalid module: ${error.message}\n${print(module)}`);
    return latest;
  };
}

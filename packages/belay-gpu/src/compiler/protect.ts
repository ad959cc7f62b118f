/** The compiler: source and options in, protected source out. Pure and deterministic. */
import { bindingAccesses } from "../analysis/bindings.ts";
import { functionsOf, stageOf } from "../analysis/callGraph.ts";
import { fillsOf } from "../analysis/fills.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { coversLess, nestsTooDeeply, noComputeEntryPoint, tooManyShapes } from "../diagnostics/protection.ts";
import { SpecializationLimit } from "../transforms/normalize/resolvePointers.ts";
import { uniqueNames } from "../transforms/normalize/uniqueNames.ts";
import { Names } from "../transforms/shared/names.ts";
import type { FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import { parse } from "../wgsl/parser.ts";
import type { Program } from "../wgsl/program.ts";
import { resolve, versionsOf } from "../wgsl/resolve/index.ts";
import { rank } from "./choice.ts";
import {
  type Configuration,
  configurationsFor,
  nameOf,
  type RankedConfiguration,
  type Structure,
  uncoveredBy,
} from "./configurations.ts";
import type { EntryPointSummary, ProtectOptions, ProtectResult } from "./contract.ts";
import { coverageGaps, loneInvocation, type Sphere } from "./coverage.ts";
import { obstacles } from "./eligibility.ts";
import { bracketed } from "./memoryPlan.ts";
import { withConstants } from "./overrides.ts";
import { transform } from "./pipeline.ts";
import { type Prepared, prepare } from "./prepare.ts";
import {
  conflictIn,
  type FixedOptions,
  placesOf,
  refuseUnknown,
  type Settings,
  settingsOf,
} from "./settings.ts";

/**
 * Protects the compute entry points of a WGSL module.
 *
 * The result computes what the input computes, and reports into a buffer (`layout`) when the two replicas of an
 * invocation disagree. An entry point that can't be protected is left as it is, with a warning that says why; with
 * `strict`, and for source that is not valid, an error, and `code` is the input.
 *
 * Throws a `TypeError` for what is no text, and for options and values that do not exist; else only when a transform breaks its own contract.
 */
export function protect(wgsl: string, options: ProtectOptions = {}): ProtectResult {
  if (typeof wgsl !== "string") throw new TypeError("the source of a module is text");
  refuseUnknown(options);
  const source = read(wgsl);
  if ("diagnostics" in source) return unchanged(wgsl, source.diagnostics);
  const { redundancy, ...others } = options;
  return redundancy === "auto"
    ? protectAtLeastCost(source, others)
    : protectAs(source, { ...others, ...(redundancy && { redundancy }) });
}

/** A valid module with compute entry points. */
interface Source {
  readonly wgsl: string;
  readonly program: Program;
  readonly kernels: readonly FunctionDeclaration[];
}

function read(wgsl: string): Source | { readonly diagnostics: readonly Diagnostic[] } {
  const parsed = parse(wgsl);
  if (hasError(parsed.diagnostics)) return { diagnostics: parsed.diagnostics };
  const program = resolve(parsed.module);
  if (hasError(program.diagnostics)) return { diagnostics: program.diagnostics };
  const kernels = functionsOf(program).filter((fn) => stageOf(fn) === "compute");
  return kernels.length === 0 ? { diagnostics: [noComputeEntryPoint()] } : { wgsl, program, kernels };
}

const unchanged = (wgsl: string, diagnostics: readonly Diagnostic[]): ProtectResult => ({
  code: wgsl,
  diagnostics,
  renamed: {},
  layout: null,
  entryPoints: [],
  checks: [],
  faultSites: [],
});

const usuallyCovered: readonly Structure[] = ["ALU", "VRF", "LDS"];

/**
 * Protects in the way with the lowest predicted cost of those that protect all entry points that are wanted and cover all that
 * is asked for; without such a way, in the one that comes nearest, which is said.
 */
function protectAtLeastCost(source: Source, options: Omit<ProtectOptions, "redundancy">): ProtectResult {
  const { cover = usuallyCovered, entryPoint, strict } = options;
  const conflict = conflictIn(placesOf(options));
  if (conflict) return unchanged(source.wgsl, [conflict]);
  const named = source.kernels.filter(({ name }) => name === entryPoint);
  const wanted = named.length > 0 ? named : source.kernels;
  const isAbout = ({ entryPoints }: Diagnostic, names: ReadonlyMap<string, unknown>) =>
    entryPoints?.some((name) => names.has(name)) ?? true;
  let best: Attempt | undefined;
  const reasons = new Map<string, Diagnostic>();
  const places = new Set<string>();
  for (const chosen of candidatesFor(source.program, wanted, cover, options)) {
    const place = `${chosen.redundancy} ${chosen.pairing}`;
    // Where all are protected, another channel covers no more.
    if (places.has(place)) continue;
    const { redundancy, channel, pairing } = chosen;
    const result = protectAs(source, { ...options, redundancy, channel, pairing }, wanted);
    const attempt = attemptOf(source, wanted, cover, options.room, { ...result, chosen });
    if (attempt.uncovered.size === wanted.length) places.add(place);
    for (const each of result.diagnostics)
      if (!isAbout(each, attempt.uncovered))
        reasons.set(`${each.code} ${each.span.start} ${each.message}`, each);
    if (attempt.score > (best?.score ?? -1)) best = attempt;
    if (best?.score === wanted.length * (cover.length + 1)) break;
  }
  const { result, uncovered } = best!;
  const { chosen, ...plain } = result;
  const alone = new Map(wanted.flatMap(({ name }) => (uncovered.has(name) ? [] : [[name, true] as const])));
  const diagnostics = [
    ...result.diagnostics.filter((each) => !each.entryPoints || !isAbout(each, alone)),
    // What one way cannot do, another one might have: the help for one way is none for all.
    ...[...reasons.values()].filter((each) => isAbout(each, alone)).map(({ help: _, ...each }) => each),
    ...wanted.flatMap(({ name, nameSpan }) => {
      const structures = uncovered.get(name) ?? [];
      return structures.length > 0 ? [coversLess(nameSpan, name, nameOf(chosen!), structures)] : [];
    }),
  ];
  if (strict && diagnostics.length > 0)
    return unchanged(
      source.wgsl,
      diagnostics.map((d) => ({ ...d, severity: "error" })),
    );
  return { ...(uncovered.size > 0 ? result : plain), diagnostics };
}

/** The configurations to try: those that cover most first, and of these the one with the lowest predicted cost. */
function candidatesFor(
  program: Program,
  kernels: readonly FunctionDeclaration[],
  cover: readonly Structure[],
  { features = [], check, channel = "auto", pairing = "auto" }: ProtectOptions,
): RankedConfiguration[] {
  const isGiven = (value: string, given: string) => given === "auto" || value === given;
  const allowed = configurationsFor(features).filter((each) => {
    if (each.check !== (check === "store" ? "store" : "signature")) return false;
    if (each.redundancy === "inter") return true;
    return isGiven(each.pairing, pairing) && (each.channel === "auto" || isGiven(each.channel, channel));
  });
  // Inter-Group kernels have no pairing and no channel: where one is given, they are what remains.
  const remains = ({ redundancy }: Configuration) =>
    Number(redundancy === "inter" && (pairing !== "auto" || channel !== "auto"));
  return rank(program, kernels, allowed).sort(
    (a, b) => uncoveredBy(a, cover).length - uncoveredBy(b, cover).length || remains(a) - remains(b),
  );
}

/** What came of one of the ways that are tried. */
interface Attempt {
  readonly result: ProtectResult & { readonly chosen: RankedConfiguration };
  /** The protected entry points, and the structures that stay uncovered in each, wholly or in part. */
  readonly uncovered: ReadonlyMap<string, readonly Structure[]>;
  /** Higher with each protected entry point, and with each structure that is covered in it. */
  readonly score: number;
}

function attemptOf(
  { program }: Source,
  wanted: readonly FunctionDeclaration[],
  cover: readonly Structure[],
  room: number | undefined,
  result: Attempt["result"],
): Attempt {
  const { chosen, diagnostics, entryPoints } = result;
  const variables = new Set(
    program.module.declarations.flatMap((each) =>
      each.kind === "globalVariable" ? [each.nameSpan.start] : [],
    ),
  );
  const uncovered = new Map<string, readonly Structure[]>();
  for (const { name } of wanted) {
    const summary = entryPoints.find((each) => each.name === name);
    if (!summary || summary.redundancy === "none") continue;
    if (1 + (summary.interGroup?.shadows.length ?? 0) > (room ?? Number.POSITIVE_INFINITY)) continue;
    const keepsOneCopy = diagnostics.some(
      ({ code, span, entryPoints = [] }) =>
        code === "BELAY210" && entryPoints.includes(name) && variables.has(span.start),
    );
    const less = uncoveredBy(chosen, cover);
    uncovered.set(
      name,
      keepsOneCopy && cover.includes("LDS") && !less.includes("LDS") ? [...less, "LDS"] : less,
    );
  }
  const score = [...uncovered.values()].reduce((sum, less) => sum + cover.length + 1 - less.length, 0);
  return { result, uncovered, score };
}

/** Protects the entry points that are wanted as the options say. */
function protectAs(
  { wgsl, program: source, kernels }: Source,
  options: FixedOptions,
  wanted: readonly FunctionDeclaration[] = kernels,
): ProtectResult {
  const settings = settingsOf(source, options);
  const sized = withConstants(source, options.constants ?? {});
  const hasCodes = settings.memory.coded.length > 0;
  if (settings.redundancy === "none" && !options.injectFaults && !hasCodes)
    return { ...unchanged(wgsl, []), entryPoints: unprotected(source, sized, kernels, settings) };
  const conflict = conflictIn(settings);
  if (conflict) return unchanged(wgsl, [conflict]);
  const names = new Names(source);
  const unique = uniqueNames(source, names, { hasCodes });
  const diagnostics: Diagnostic[] = [];
  const eligible: FunctionDeclaration[] = [];
  for (const kernel of wanted) {
    const found = obstacles(source, sized, kernel, settings);
    if (found.length === 0) eligible.push(kernel);
    diagnostics.push(...found);
  }
  let prepared: Prepared;
  try {
    const named = unique.module === source.module ? source : versionsOf(source)(unique.module);
    const entryPoints = eligible.map(({ name }) => unique.knownToHost.get(name) ?? name);
    prepared = prepare(named, names, settings, new Set(entryPoints));
  } catch (error) {
    if (!(error instanceof SpecializationLimit)) throw error;
    return unchanged(wgsl, [tooManyShapes(error.span, names.inOwnNames(error.message))]);
  }
  diagnostics.push(...prepared.diagnostics.map((each) => inOwnNames(each, names)));
  const fitNames = new Set([...prepared.entryPoints].map((name) => names.own(name)));
  const fit = eligible.filter(({ name }) => fitNames.has(name));
  diagnostics.push(...coverageGaps(source, fit, settings, sphereOf(prepared)));
  diagnostics.push(
    ...functionsOf(sized)
      .filter(({ name }) => fitNames.has(name))
      .flatMap((kernel) => loneInvocation(sized, kernel, settings)),
  );
  if (options.strict && diagnostics.length > 0)
    return unchanged(
      wgsl,
      diagnostics.map((d) => ({ ...d, severity: "error" })),
    );
  if (fit.length === 0)
    return { ...unchanged(wgsl, diagnostics), entryPoints: unprotected(source, sized, kernels, settings) };
  const { tooDeep, ...result } = transform(prepared, names, settings);
  if (tooDeep.size > 0) {
    const others = wanted.filter(({ name }) => !tooDeep.has(name));
    const without = protectAs({ wgsl, program: source, kernels }, options, others);
    const found = [...tooDeep].map(([name, span]) => nestsTooDeeply(span, name));
    if (options.strict)
      return unchanged(
        wgsl,
        [...found, ...without.diagnostics].map((d) => ({ ...d, severity: "error" })),
      );
    return { ...without, diagnostics: [...found, ...without.diagnostics] };
  }
  const summaries = unprotected(source, sized, kernels, settings).map((summary) => ({
    ...summary,
    ...result.entryPoints.find(({ name }) => name === summary.name),
  }));
  const renamed = Object.fromEntries(unique.knownToHost);
  return { ...result, entryPoints: summaries, diagnostics, renamed };
}

/** Returns what was found in a program with unique names, as its user knows it. */
function inOwnNames({ message, help, ...found }: Diagnostic, names: Names): Diagnostic {
  return {
    ...found,
    message: names.inOwnNames(message),
    notes: found.notes.map((note) => names.inOwnNames(note)),
    ...(help !== undefined && { help: names.inOwnNames(help) }),
    ...(found.entryPoints && { entryPoints: found.entryPoints.map((name) => names.own(name)) }),
  };
}

/** What preparation has found out about the variables of the source, which may have got other names. */
function sphereOf({ program, replicated, plans }: Prepared): Sphere {
  const names = new Map(
    program.module.declarations.flatMap((variable) =>
      variable.kind === "globalVariable" ? [[variable.nameSpan.start, variable.name]] : [],
    ),
  );
  const once = new Set([...plans.values()].flatMap((plan) => [...plan.once]));
  const isReplicated = ({ nameSpan }: GlobalVariable) => replicated.has(names.get(nameSpan.start) ?? "");
  return {
    isReplicated,
    isExecutedOnce: (variable) =>
      plans.size > 0 ? once.has(names.get(variable.nameSpan.start) ?? "") : !isReplicated(variable),
  };
}

/** The entry points of a program that stays as it is. `sized`: with the values of its overrides. */
function unprotected(
  source: Program,
  sized: Program,
  kernels: readonly FunctionDeclaration[],
  { memory }: Settings,
): EntryPointSummary[] {
  return kernels.map((kernel) => {
    const bindings = bindingAccesses(source, kernel);
    const fills = fillsOf(sized, kernel);
    return {
      name: kernel.name,
      redundancy: "none",
      checks: [],
      usesReport: false,
      bindings,
      ...(fills.length > 0 && { fills }),
      ...(memory.coded.length > 0 && { memory: bracketed(bindings, memory) }),
    };
  });
}

const hasError = (diagnostics: readonly Diagnostic[]) => diagnostics.some((d) => d.severity === "error");

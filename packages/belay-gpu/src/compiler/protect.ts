/** The compiler: source and options in, protected source out. Pure and deterministic. */

import { tooDeepIn } from "../analysis/nesting.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { coversLess, nestsTooDeeply, noComputeEntryPoint, tooManyShapes } from "../diagnostics/protection.ts";
import { codeOf } from "../diagnostics/registry.ts";
import { countedWords } from "../transforms/faults/countingTrigger.ts";
import { SpecializationLimit } from "../transforms/normalize/resolvePointers.ts";
import { Names } from "../transforms/shared/names.ts";
import type { GlobalVariable } from "../wgsl/ast.ts";
import { parse } from "../wgsl/parser.ts";
import { print } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import { resolve } from "../wgsl/resolve/index.ts";
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
import { type KernelFacts, ProgramFacts } from "./facts.ts";
import { withConstants } from "./overrides.ts";
import { type PassOptions, type PassRecord, PassRunner } from "./passRunner.ts";
import { type ProtectionPlan, planProtection } from "./plan.ts";
import {
  conflictIn,
  type FixedOptions,
  placesOf,
  refuseUnknownOptions,
  type Settings,
  settingsOf,
} from "./settings.ts";
import { protectedSummary, unprotectedSummary } from "./summaries.ts";

/**
 * Protects the compute entry points of a WGSL module.
 *
 * The result computes what the input computes, and reports into a buffer (`layout`) when the two
 * replicas of an invocation disagree. An entry point that can't be protected is left as it is, with
 * a warning that says why; with `strict`, and for source that is not valid, an error, and `code` is
 * the input.
 *
 * Throws a `TypeError` for what is no text, and for options and values that do not exist; else only
 * when a transform breaks its own contract.
 */
export function protect(wgsl: string, options: ProtectOptions = {}): ProtectResult {
  return protectInPasses(wgsl, options).result;
}

/** What `protect` makes of a module, and what each pass made of it on the way. */
export interface Protection {
  readonly result: ProtectResult;
  /**
   * The passes that led to the result, in the order in which they ran; none unless `records` asks
   * for them.
   */
  readonly passes: readonly PassRecord[];
}

/**
 * Protects a module as `protect` does, and keeps records of passes, or verifies invariants after
 * each.
 */
export function protectInPasses(
  wgsl: string,
  options: ProtectOptions = {},
  passOptions: PassOptions = {},
): Protection {
  if (typeof wgsl !== "string") throw new TypeError("the source of a module is text");
  refuseUnknownOptions(options);
  const source = read(wgsl, options, passOptions);
  if ("diagnostics" in source) return unchanged(wgsl, source.diagnostics);
  const { redundancy, ...others } = options;
  return redundancy === "auto"
    ? protectAtLeastCost(source, others)
    : protectAs(source, { ...others, ...(redundancy && { redundancy }) });
}

/** A valid module with compute entry points. */
interface Source {
  readonly wgsl: string;
  readonly facts: ProgramFacts;
  /** About the program with overrides turned into constants, as far as they are known. */
  readonly sized: ProgramFacts;
  readonly passOptions: PassOptions;
}

function read(
  wgsl: string,
  { constants = {} }: ProtectOptions,
  passOptions: PassOptions,
): Source | { readonly diagnostics: readonly Diagnostic[] } {
  const parsed = parse(wgsl);
  if (hasError(parsed.diagnostics)) return { diagnostics: parsed.diagnostics };
  const program = resolve(parsed.module);
  if (hasError(program.diagnostics)) return { diagnostics: program.diagnostics };
  const facts = new ProgramFacts(program);
  if (facts.kernels().length === 0) return { diagnostics: [noComputeEntryPoint()] };
  const sized = withConstants(program, constants);
  return { wgsl, facts, sized: sized === program ? facts : new ProgramFacts(sized), passOptions };
}

const unchanged = (wgsl: string, diagnostics: readonly Diagnostic[]): Protection => ({
  result: {
    code: wgsl,
    diagnostics,
    renamed: {},
    layout: null,
    entryPoints: [],
    checks: [],
    faultSites: [],
  },
  passes: [],
});

/** The module as it is, and what it lacks as errors. */
const refused = (wgsl: string, diagnostics: readonly Diagnostic[]): Protection =>
  unchanged(
    wgsl,
    diagnostics.map((diagnostic) => ({ ...diagnostic, severity: "error" })),
  );

const usuallyCovered: readonly Structure[] = ["ALU", "VRF", "LDS"];

/**
 * Protects in the way with the lowest predicted cost of those that protect all entry points that
 * are wanted and cover all that is asked for; without such a way, in the one that comes nearest,
 * which is said.
 */
function protectAtLeastCost(source: Source, options: Omit<ProtectOptions, "redundancy">): Protection {
  const { cover = usuallyCovered, entryPoint, strict } = options;
  const conflict = conflictIn(placesOf(options));
  if (conflict) return unchanged(source.wgsl, [conflict]);
  const kernels = source.facts.kernels();
  const named = kernels.filter(({ name }) => name === entryPoint);
  const wanted = named.length > 0 ? named : kernels;
  const isAbout = ({ entryPoints }: Diagnostic, names: ReadonlyMap<string, unknown>) =>
    entryPoints?.some((name) => names.has(name)) ?? true;
  let best: Attempt | undefined;
  const reasons = new Map<string, Diagnostic>();
  const places = new Set<string>();
  for (const chosen of candidatesFor(source.facts.program, wanted, cover, options)) {
    const place = `${chosen.redundancy} ${chosen.pairing}`;
    // Where all are protected, another channel covers no more.
    if (places.has(place)) continue;
    const { redundancy, channel, pairing } = chosen;
    const protection = protectAs(source, { ...options, redundancy, channel, pairing }, wanted);
    const attempt = attemptOf(source, wanted, cover, options.room, { protection, chosen });
    if (attempt.uncovered.size === wanted.length) places.add(place);
    for (const each of protection.result.diagnostics)
      if (!isAbout(each, attempt.uncovered))
        reasons.set(`${each.code} ${each.span.start} ${each.message}`, each);
    if (attempt.score > (best?.score ?? -1)) best = attempt;
    if (best?.score === wanted.length * (cover.length + 1)) break;
  }
  const { protection, chosen, uncovered } = best!;
  const { result } = protection;
  const alone = new Map(wanted.flatMap(({ name }) => (uncovered.has(name) ? [] : [[name, true] as const])));
  const diagnostics = [
    ...result.diagnostics.filter((each) => !each.entryPoints || !isAbout(each, alone)),
    // What one way cannot do, another one might have: the help for one way is none for all.
    ...[...reasons.values()].filter((each) => isAbout(each, alone)).map(({ help: _, ...each }) => each),
    ...wanted.flatMap(({ name, declaration: { nameSpan } }) => {
      const structures = uncovered.get(name) ?? [];
      return structures.length > 0 ? [coversLess(nameSpan, name, nameOf(chosen), structures)] : [];
    }),
  ];
  if (strict && diagnostics.length > 0) return refused(source.wgsl, diagnostics);
  return {
    ...protection,
    result: uncovered.size > 0 ? { ...result, chosen, diagnostics } : { ...result, diagnostics },
  };
}

/**
 * The configurations to try: those that cover most first, and of these the one with the lowest
 * predicted cost.
 */
function candidatesFor(
  program: Program,
  kernels: readonly KernelFacts[],
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
  const declarations = kernels.map(({ declaration }) => declaration);
  return rank(program, declarations, allowed).sort(
    (a, b) => uncoveredBy(a, cover).length - uncoveredBy(b, cover).length || remains(a) - remains(b),
  );
}

/** What came of one of the ways that are tried. */
interface Attempt {
  readonly protection: Protection;
  readonly chosen: RankedConfiguration;
  /**
   * The protected entry points, and the structures that stay uncovered in each, wholly or in part.
   */
  readonly uncovered: ReadonlyMap<string, readonly Structure[]>;
  /** Higher with each protected entry point, and with each structure that is covered in it. */
  readonly score: number;
}

function attemptOf(
  { facts }: Source,
  wanted: readonly KernelFacts[],
  cover: readonly Structure[],
  room: number | undefined,
  { protection, chosen }: Pick<Attempt, "protection" | "chosen">,
): Attempt {
  const { diagnostics, entryPoints } = protection.result;
  const variables = new Set(
    facts.program.module.declarations.flatMap((each) =>
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
        code === codeOf("outside-sphere") && entryPoints.includes(name) && variables.has(span.start),
    );
    const less = uncoveredBy(chosen, cover);
    uncovered.set(
      name,
      keepsOneCopy && cover.includes("LDS") && !less.includes("LDS") ? [...less, "LDS"] : less,
    );
  }
  const score = [...uncovered.values()].reduce((sum, less) => sum + cover.length + 1 - less.length, 0);
  return { protection, chosen, uncovered, score };
}

/** Protects the entry points that are wanted as the options say. */
function protectAs(
  source: Source,
  options: FixedOptions,
  wanted: readonly KernelFacts[] = source.facts.kernels(),
): Protection {
  const { wgsl, facts, sized, passOptions } = source;
  const settings = settingsOf(facts.program, options);
  const asTheyAre = () =>
    facts.kernels().map((kernel) => unprotectedSummary(kernel, sized.kernel(kernel.name), settings));
  if (settings.redundancy === "none" && !options.injectFaults && settings.memory.coded.length === 0)
    return withEntryPoints(unchanged(wgsl, []), asTheyAre());
  const conflict = conflictIn(settings);
  if (conflict) return unchanged(wgsl, [conflict]);
  const names = new Names(facts.program);
  const unique = new PassRunner(facts.program, names, passOptions);
  const renamed = unique.runSourcePasses(settings);
  const nameInPasses = ({ name }: { readonly name: string }) => renamed.get(name) ?? name;
  const diagnostics: Diagnostic[] = [];
  const eligible = new Set<string>();
  for (const kernel of wanted) {
    const found = obstacles(facts, kernel, sized.kernel(kernel.name), settings);
    if (found.length === 0) eligible.add(nameInPasses(kernel));
    diagnostics.push(...found);
  }
  let planned: ReturnType<typeof planFitting>;
  try {
    planned = planFitting(unique, eligible, settings);
  } catch (error) {
    if (!(error instanceof SpecializationLimit)) throw error;
    return unchanged(wgsl, [tooManyShapes(error.span, names.inOwnNames(error.message))]);
  }
  diagnostics.push(...planned.diagnostics.map((each) => inOwnNames(each, names)));
  const { runner, plan } = planned;
  if (plan) {
    const fit = wanted.filter((kernel) => plan.entryPoints.has(nameInPasses(kernel)));
    diagnostics.push(...coverageGaps(facts.program, fit, settings, sphereOf(runner.program, plan)));
    for (const { name } of fit) diagnostics.push(...loneInvocation(sized.kernel(name), settings));
  }
  if (options.strict && diagnostics.length > 0) return refused(wgsl, diagnostics);
  if (!plan) return withEntryPoints(unchanged(wgsl, diagnostics), asTheyAre());

  const { sites, faultSites } = runner.protect(plan, unique.program);
  const tooDeep = nestingTooDeeply(runner.facts.kernels(plan.entryPoints), names);
  if (tooDeep.size > 0) {
    const others = wanted.filter(({ name }) => !tooDeep.has(name));
    const without = protectAs(source, options, others);
    const found = [
      ...[...tooDeep].map(([name, span]) => nestsTooDeeply(span, name)),
      ...without.result.diagnostics,
    ];
    if (options.strict) return refused(wgsl, found);
    return { ...without, result: { ...without.result, diagnostics: found } };
  }
  const { layout } = plan.report;
  const isProfile = settings.injectFaults === "profile";
  return {
    result: {
      code: print(runner.program.module),
      layout: isProfile
        ? { ...layout, bytes: layout.bytes + 4 * countedWords(faultSites.all.length) }
        : layout,
      entryPoints: asTheyAre().map((summary) =>
        plan.entryPoints.has(nameInPasses(summary))
          ? { ...summary, ...protectedSummary(nameInPasses(summary), plan, runner.facts, names, sites) }
          : summary,
      ),
      checks: sites.all.map((site) => ({ ...site, name: names.own(site.name) })),
      faultSites: faultSites.all.map((site) => ({
        ...site,
        functionName: names.own(site.functionName),
      })),
      diagnostics,
      renamed: Object.fromEntries(renamed),
    },
    passes: runner.records,
  };
}

const withEntryPoints = (protection: Protection, entryPoints: readonly EntryPointSummary[]): Protection => ({
  ...protection,
  result: { ...protection.result, entryPoints },
});

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

/**
 * Plans for the entry points that fit what is asked for: functions of those that do not stay as
 * they are, so the normal form is made again without them. Throws `SpecializationLimit` where
 * pointers have too many shapes.
 */
function planFitting(
  unique: PassRunner,
  eligible: ReadonlySet<string>,
  settings: Settings,
): { runner: PassRunner; plan: ProtectionPlan | undefined; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = [];
  for (let entryPoints = eligible; entryPoints.size > 0; ) {
    const runner = unique.normalized(entryPoints, settings);
    const planned = planProtection(runner.facts, entryPoints, settings);
    diagnostics.push(...planned.diagnostics);
    if (planned.plan) return { runner, plan: planned.plan, diagnostics };
    entryPoints = planned.fit;
  }
  return { runner: unique, plan: undefined, diagnostics };
}

/** The kernels whose statements nest deeper than compilers take, and where they do. */
function nestingTooDeeply(kernels: readonly KernelFacts[], names: Names): Map<string, Span> {
  return new Map(
    kernels.flatMap(({ name, functions }) => {
      const [span] = [...functions].flatMap((fn) => tooDeepIn(fn) ?? []);
      return span ? [[names.own(name), span] as const] : [];
    }),
  );
}

/** What the plan says about the variables of the source, which may have got other names. */
function sphereOf(program: Program, { replicated, kernels: plans }: ProtectionPlan): Sphere {
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

const hasError = (diagnostics: readonly Diagnostic[]) => diagnostics.some((d) => d.severity === "error");

/** The compiler: a pure, deterministic function from source and options to protected source. */

import { tooDeepIn } from "../analysis/nesting.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import {
  computedOnce,
  coversLess,
  nestsTooDeeply,
  noComputeEntryPoint,
  noSilentFaults,
  tooManyShapes,
} from "../diagnostics/protection.ts";
import { codeOf } from "../diagnostics/registry.ts";
import { countedWords } from "../transforms/faults/countingTrigger.ts";
import { SpecializationLimit } from "../transforms/normalize/resolvePointers.ts";
import { Names } from "../transforms/shared/names.ts";
import type { GlobalVariable } from "../wgsl/ast.ts";
import { print } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import { rank } from "./choice.ts";
import {
  type Configuration,
  configurationsFor,
  describeConfiguration,
  type RankedConfiguration,
  type Structure,
  uncoveredBy,
} from "./configurations.ts";
import type { CompiledEntryPoint, CompilerOptions, CompilerResult } from "./contract.ts";
import { coverageGaps, type Sphere, sharedLanes } from "./coverage.ts";
import { obstacles } from "./eligibility.ts";
import { type KernelFacts, ProgramFacts } from "./facts.ts";
import { withConstants } from "./overrides.ts";
import { type PassOptions, type PassRecord, PassRunner } from "./passRunner.ts";
import { type ProtectionPlan, planProtection } from "./plan.ts";
import { resolvedSource } from "./resolvedSource.ts";
import {
  chosenValues,
  injectedInto,
  isSelective,
  type SelectiveCover,
  usuallyCovered,
} from "./selectiveCover.ts";
import {
  conflictIn,
  type FixedOptions,
  placesOf,
  refuseUnknownCompilerOptions,
  type Settings,
  settingsOf,
} from "./settings.ts";
import { protectedSummary, unprotectedSummary } from "./summaries.ts";

/**
 * Protects a module as `protect` of the package does, with the options and the results that the
 * runtime needs. The code reports into the buffer of `layout`.
 *
 * Throws a `TypeError` for a source that is no string, and for unknown options and values. Any
 * other exception is a defect.
 */
export function protect(wgsl: string, options: CompilerOptions = {}): CompilerResult {
  return protectInPasses(wgsl, options).result;
}

/** The result of `protect`, with the module after each pass. */
export interface Protection {
  readonly result: CompilerResult;
  /** The passes that led to the result, in their order; empty unless `records` asks for them. */
  readonly passes: readonly PassRecord[];
  /** The places among the chosen ones that are computed twice; set under `"selective"`. */
  readonly twice?: ReadonlySet<Span>;
}

/**
 * Protects a module as `protect` does. Keeps records of passes or verifies invariants on request.
 */
export function protectInPasses(
  wgsl: string,
  options: CompilerOptions = {},
  passOptions: PassOptions = {},
): Protection {
  if (typeof wgsl !== "string") throw new TypeError("the source of a module is text");
  refuseUnknownCompilerOptions(options, passOptions);
  const source = read(wgsl, options, passOptions);
  if ("diagnostics" in source) return unchanged(wgsl, source.diagnostics);
  const { redundancy, cover, ...others } = options;
  if (isSelective(cover)) {
    // Values that are computed twice have one text. A dispatch that the device may skip runs where
    // results are in doubt.
    const isSelected = redundancy === "auto" && !options.skippable && !options.diversity;
    const selected = isSelected ? protectValues(source, others, cover) : undefined;
    return selected ?? protectInPasses(wgsl, { ...others, ...(redundancy && { redundancy }) }, passOptions);
  }
  return redundancy === "auto"
    ? protectAtLeastCost(source, { ...others, ...(cover && { cover }) })
    : protectAs(source, { ...others, ...(redundancy && { redundancy }) });
}

/**
 * Computes the chosen values of the wanted kernels twice. A kernel without a chosen value is left
 * unprotected, with a warning. Undefined if no campaign has struck one of the kernels, or if a
 * kernel can compute none of its chosen values twice.
 */
function protectValues(source: Source, options: FixedOptions, cover: SelectiveCover): Protection | undefined {
  const { wgsl, facts } = source;
  const wanted = wantedKernels(facts, options.entryPoint);
  const chosen = new Map<KernelFacts, readonly Span[]>();
  for (const kernel of wanted) {
    const values = chosenValues(wgsl, kernel.name, cover);
    if (!values) return undefined;
    chosen.set(kernel, values);
  }
  const struck = wanted.filter((kernel) => chosen.get(kernel)!.length > 0);
  const protection =
    struck.length > 0
      ? protectAs(
          source,
          { ...options, redundancy: "selective", chosen: [...chosen.values()].flat() },
          struck,
        )
      : protectAs(source, { ...options, redundancy: "none" }, wanted);
  const gaps: Diagnostic[] = [];
  for (const [{ name, declaration }, values] of chosen) {
    const { nameSpan } = declaration;
    if (values.length === 0) gaps.push(noSilentFaults(nameSpan, name, injectedInto(wgsl, name, cover)));
    const once = protection.twice ? values.filter((each) => !protection.twice!.has(each)) : [];
    if (once.length > 0 && once.length === values.length) return undefined;
    if (once.length > 0) gaps.push(computedOnce(nameSpan, name, once.length, values.length));
  }
  const diagnostics = [...protection.result.diagnostics, ...gaps];
  if (options.strict && diagnostics.length > 0) return refused(wgsl, diagnostics);
  return { ...protection, result: { ...protection.result, diagnostics } };
}

/** Returns the kernel of a name, or all kernels if there is none. */
function wantedKernels(facts: ProgramFacts, entryPoint: string | undefined): readonly KernelFacts[] {
  const kernels = facts.kernels();
  const named = kernels.filter(({ name }) => name === entryPoint);
  return named.length > 0 ? named : kernels;
}

/** A valid module with compute entry points. */
interface Source {
  readonly wgsl: string;
  readonly facts: ProgramFacts;
  /** The facts about the program with its known overrides turned into constants. */
  readonly sized: ProgramFacts;
  readonly passOptions: PassOptions;
}

function read(
  wgsl: string,
  { constants = {} }: CompilerOptions,
  passOptions: PassOptions,
): Source | { readonly diagnostics: readonly Diagnostic[] } {
  const resolved = resolvedSource(wgsl);
  if ("diagnostics" in resolved) return resolved;
  const { program } = resolved;
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

/** Returns the unchanged module, with its gaps as errors. */
const refused = (wgsl: string, diagnostics: readonly Diagnostic[]): Protection =>
  unchanged(
    wgsl,
    diagnostics.map((diagnostic) => ({ ...diagnostic, severity: "error" })),
  );

/** The options of a choice. */
type ChoiceOptions = Omit<CompilerOptions, "redundancy" | "cover"> & {
  readonly cover?: readonly Structure[];
};

/** The cost of a configuration without gaps, relative to one with gaps, at which it is taken. */
const similarCost = 1.25;

/** Returns true if a diagnostic is about one of these entry points, or about no particular one. */
const isAbout = ({ entryPoints }: Diagnostic, names: ReadonlyMap<string, unknown>): boolean =>
  entryPoints?.some((name) => names.has(name)) ?? true;

/**
 * Protects with the configuration of the lowest predicted cost that covers all requested structures
 * in all wanted entry points. One with fewer gaps is preferred if it costs about as much, and under
 * `closesGaps` at any cost. If none covers all, takes the one that comes nearest, with a warning.
 */
function protectAtLeastCost(source: Source, options: ChoiceOptions): Protection {
  const { cover = usuallyCovered, entryPoint, strict, closesGaps = strict } = options;
  const conflict = conflictIn(placesOf(options));
  if (conflict) return unchanged(source.wgsl, [conflict]);
  const wanted = wantedKernels(source.facts, entryPoint);
  const whole = wanted.length * (cover.length + 1);
  let best: Attempt | undefined;
  const reasons = new Map<string, Diagnostic>();
  const places = new Set<string>();
  for (const chosen of candidatesFor(source.facts.program, wanted, cover, options)) {
    const place = `${chosen.redundancy} ${chosen.pairing}`;
    // If all are protected, another channel covers no more.
    if (places.has(place)) continue;
    const isWorthGaps = closesGaps || !best || chosen.predicted <= similarCost * best.chosen.predicted;
    if (best?.score === whole && !isWorthGaps) continue;
    const { redundancy, check, channel, pairing } = chosen;
    const protection = protectAs(source, { ...options, redundancy, check, channel, pairing }, wanted);
    const attempt = attemptOf(source, wanted, cover, options.room, { protection, chosen });
    if (attempt.uncovered.size === wanted.length) places.add(place);
    for (const each of protection.result.diagnostics)
      if (!isAbout(each, attempt.uncovered))
        reasons.set(`${each.code} ${each.span.start} ${each.message}`, each);
    const closesSome = attempt.score === best?.score && attempt.gaps < best.gaps;
    if (!best || attempt.score > best.score || (closesSome && isWorthGaps)) best = attempt;
    if (best.score === whole && best.gaps === 0) break;
  }
  const { protection, chosen, uncovered } = best!;
  const { result } = protection;
  const alone = new Map(wanted.flatMap(({ name }) => (uncovered.has(name) ? [] : [[name, true] as const])));
  const diagnostics = [
    ...result.diagnostics.filter((each) => !each.entryPoints || !isAbout(each, alone)),
    // The help of one configuration does not apply to all, so it is left out.
    ...[...reasons.values()].filter((each) => isAbout(each, alone)).map(({ help: _, ...each }) => each),
    ...wanted.flatMap(({ name, declaration: { nameSpan } }) => {
      const structures = uncovered.get(name) ?? [];
      return structures.length > 0
        ? [coversLess(nameSpan, name, describeConfiguration(chosen), structures)]
        : [];
    }),
  ];
  if (strict && diagnostics.length > 0) return refused(source.wgsl, diagnostics);
  return {
    ...protection,
    result: uncovered.size > 0 ? { ...result, chosen, diagnostics } : { ...result, diagnostics },
  };
}

/**
 * Returns the configurations to try: first by the number of covered structures, then by predicted
 * cost.
 */
function candidatesFor(
  program: Program,
  kernels: readonly KernelFacts[],
  cover: readonly Structure[],
  { features = [], check, channel = "auto", pairing = "auto", diversity = false }: ChoiceOptions,
): RankedConfiguration[] {
  const isGiven = (value: string, given: string) => given === "auto" || value === given;
  const allowed = configurationsFor(features).filter((each) => {
    // Subgroup matrices have no signatures, so Inter-Group by stores remains under each check.
    if (each.check === "signature" && check === "store") return false;
    if (each.redundancy === "inter") return true;
    if (each.check === "store" && check !== "store") return false;
    if (diversity && each.pairing !== "passes") return false;
    return isGiven(each.pairing, pairing) && (each.channel === "auto" || isGiven(each.channel, channel));
  });
  // Inter-Group kernels have neither pairing nor channel, so they come last if one of these is
  // given. A check that is not the given one comes last too.
  const remains = (each: Configuration) =>
    Number(each.redundancy === "inter" && (pairing !== "auto" || channel !== "auto")) +
    2 * Number(each.check === "store" && check !== "store");
  const declarations = kernels.map(({ declaration }) => declaration);
  return rank(program, declarations, allowed).sort(
    (a, b) => uncoveredBy(a, cover).length - uncoveredBy(b, cover).length || remains(a) - remains(b),
  );
}

/** The result of one configuration that was tried. */
interface Attempt {
  readonly protection: Protection;
  readonly chosen: RankedConfiguration;
  /**
   * The protected entry points, each with the structures that are not covered, wholly or in part.
   */
  readonly uncovered: ReadonlyMap<string, readonly Structure[]>;
  /**
   * The score. It is higher with each protected entry point and each structure that is covered in
   * it.
   */
  readonly score: number;
  /** The number of gaps in the coverage of the protected entry points. */
  readonly gaps: number;
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
    const added = 1 + (summary.interGroup?.shadows.length ?? 0) + (summary.sums ? 1 : 0);
    if (added > (room ?? Number.POSITIVE_INFINITY)) continue;
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
  const gaps = diagnostics.filter((each) => isAbout(each, uncovered)).length;
  return { protection, chosen, uncovered, score, gaps };
}

/** Protects the wanted entry points according to the options. */
function protectAs(
  source: Source,
  options: FixedOptions,
  wanted: readonly KernelFacts[] = source.facts.kernels(),
): Protection {
  const { wgsl, facts, sized, passOptions } = source;
  const settings = settingsOf(facts.program, options, passOptions);
  const asTheyAre = () => facts.kernels().map((kernel) => unprotectedSummary(kernel, settings));
  const isUnchanged = settings.redundancy === "none" && !options.injectFaults && !settings.sums;
  if (isUnchanged && settings.memory.coded.length === 0)
    return withEntryPoints(unchanged(wgsl, []), asTheyAre());
  const conflict = conflictIn(settings);
  if (conflict) return unchanged(wgsl, [conflict]);
  const names = new Names(facts.program);
  const unique = new PassRunner(facts, names, passOptions);
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
    for (const { name } of fit) diagnostics.push(...sharedLanes(sized.kernel(name), settings));
  }
  if (options.strict && diagnostics.length > 0) return refused(wgsl, diagnostics);
  if (!plan) return withEntryPoints(unchanged(wgsl, diagnostics), asTheyAre());

  const { sites, faultSites, twice } = runner.protect(plan, unique.program);
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
    twice,
  };
}

const withEntryPoints = (protection: Protection, entryPoints: readonly CompiledEntryPoint[]): Protection => ({
  ...protection,
  result: { ...protection.result, entryPoints },
});

/** Returns a diagnostic with the program's own names in place of its unique ones. */
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
 * Plans the protection of the entry points that fit. Functions of those that do not fit must stay
 * unchanged, so the normal form is computed again without them. Throws `SpecializationLimit` if
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

/** Returns the kernels whose statements nest deeper than compilers accept, each with the place. */
function nestingTooDeeply(kernels: readonly KernelFacts[], names: Names): Map<string, Span> {
  return new Map(
    kernels.flatMap(({ name, functions }) => {
      const [span] = [...functions].flatMap((fn) => tooDeepIn(fn) ?? []);
      return span ? [[names.own(name), span] as const] : [];
    }),
  );
}

/**
 * Returns the sphere of replication of a plan, for variables of the source, which may have other
 * names.
 */
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

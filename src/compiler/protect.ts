/** The compiler: source and options in, protected source out. Pure and deterministic. */
import { bindingAccesses, bindingPointsOf } from "../analysis/bindings.ts";
import { functionsOf, reachableFrom, stageOf, variablesOf } from "../analysis/callGraph.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import {
  noComputeEntryPoint,
  pairingConflict,
  subgroupsMissing,
  tooManyShapes,
} from "../diagnostics/protection.ts";
import { compareStores } from "../transforms/compareStores.ts";
import { Comparison } from "../transforms/comparison/comparison.ts";
import { declareReport } from "../transforms/declareReport.ts";
import { enableSubgroups } from "../transforms/enableSubgroups.ts";
import { executeAtomicsOnce } from "../transforms/executeAtomicsOnce.ts";
import { injectFaults } from "../transforms/injectFaults.ts";
import { keepBindings } from "../transforms/keepBindings.ts";
import { Names } from "../transforms/names.ts";
import { replicateInvocations } from "../transforms/replicateInvocations.ts";
import { replicateWorkgroupMemory } from "../transforms/replicateWorkgroupMemory.ts";
import { doublingOf, replicateWorkgroups } from "../transforms/replicateWorkgroups.ts";
import {
  CheckSites,
  cellCount,
  type FaultSite,
  type ReportLayout,
  reportWords,
} from "../transforms/reportBuffer.ts";
import { SpecializationLimit } from "../transforms/resolvePointers.ts";
import { uniqueNames } from "../transforms/uniqueNames.ts";
import type { FunctionDeclaration, GlobalVariable, Module } from "../wgsl/ast.ts";
import { parse } from "../wgsl/parser.ts";
import { print } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import type {
  BindingPoint,
  Channel,
  Check,
  EntryPointSummary,
  KernelLimits,
  Pairing,
  ProtectOptions,
  ProtectResult,
  Redundancy,
} from "./contract.ts";
import { coverageGaps } from "./coverage.ts";
import { obstacles } from "./eligibility.ts";
import { withConstants } from "./overrides.ts";
import { checked, isInside, type Prepared, prepare } from "./prepare.ts";
import { lanesOf } from "./workgroupSize.ts";

/** The limits that every WebGPU device has (WebGPU specification, "Limits"). */
const defaultLimits: KernelLimits = {
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupStorageSize: 16384,
  maxStorageBuffersPerShaderStage: 8,
  maxBindGroups: 4,
};

/**
 * Protects the compute entry points of a WGSL module.
 *
 * The result computes what the input computes, and reports into a buffer (`layout`) when the two replicas of an
 * invocation disagree. An entry point that can't be protected is left as it is, with a warning that says why; with
 * `strict`, and for source that is not valid, an error, and `code` is the input.
 *
 * Throws only when a transform breaks its own contract.
 */
export function protect(wgsl: string, options: ProtectOptions = {}): ProtectResult {
  const unchanged = (diagnostics: readonly Diagnostic[]): ProtectResult => ({
    code: wgsl,
    diagnostics,
    layout: null,
    entryPoints: [],
    checks: [],
    faultSites: [],
  });
  const parsed = parse(wgsl);
  if (hasError(parsed.diagnostics)) return unchanged(parsed.diagnostics);
  const source = resolve(parsed.module);
  if (hasError(source.diagnostics)) return unchanged(source.diagnostics);
  const kernels = functionsOf(source).filter((fn) => stageOf(fn) === "compute");
  if (kernels.length === 0) return unchanged([noComputeEntryPoint()]);

  const settings = settingsOf(source, options);
  if (settings.redundancy === "none" && !options.injectFaults)
    return { ...unchanged([]), entryPoints: unprotected(source, kernels) };
  const conflict = conflictIn(settings, options);
  if (conflict) return unchanged([conflict]);
  const names = new Names(source);
  const unique = uniqueNames(source, names);
  const diagnostics = [...unique.diagnostics];
  const sized = withConstants(source, options.constants ?? {});
  const eligible: FunctionDeclaration[] = [];
  for (const kernel of kernels) {
    const found = obstacles(source, sized, kernel, settings);
    if (found.length === 0 && unique.diagnostics.length === 0) eligible.push(kernel);
    diagnostics.push(...found);
  }
  let prepared: Prepared;
  try {
    prepared = prepare(resolve(unique.module), names, settings, new Set(eligible.map(({ name }) => name)));
  } catch (error) {
    if (!(error instanceof SpecializationLimit)) throw error;
    return unchanged([tooManyShapes(error.span, error.message)]);
  }
  diagnostics.push(...prepared.diagnostics);
  const fit = eligible.filter(({ name }) => prepared.entryPoints.has(name));
  diagnostics.push(...coverageGaps(source, reachableFrom(source, fit), settings.redundancy));
  if (options.strict && diagnostics.length > 0)
    return unchanged(diagnostics.map((d) => ({ ...d, severity: "error" })));
  if (fit.length === 0) return { ...unchanged(diagnostics), entryPoints: unprotected(source, kernels) };
  const result = transform(prepared, names, settings);
  const summaries = unprotected(source, kernels).map((summary) => ({
    ...summary,
    ...result.entryPoints.find(({ name }) => name === summary.name),
  }));
  return { ...result, entryPoints: summaries, diagnostics };
}

interface Settings {
  readonly redundancy: Redundancy;
  readonly check: Check | "none";
  readonly pairing: Pairing;
  readonly channel: Channel;
  readonly limits: KernelLimits;
  readonly report: BindingPoint;
  readonly injectFaults: boolean;
}

function settingsOf(source: Program, options: ProtectOptions): Settings {
  const { redundancy = "intra+lds", check = "signature", pairing = "adjacent", channel = "auto" } = options;
  const limits = { ...defaultLimits, ...options.limits };
  // Replicas in different subgroups have no registers in common.
  const exchanges = new Set(options.features).has("subgroups") && pairing !== "subgroups";
  return {
    redundancy,
    check,
    pairing,
    channel: channel === "auto" ? (exchanges ? "subgroup" : "workgroup") : channel,
    limits,
    report: options.reportBinding ?? freeBinding(source, limits.maxBindGroups),
    injectFaults: options.injectFaults ?? false,
  };
}

/** Options that exclude each other, or ask for what the device lacks. */
function conflictIn(settings: Settings, options: ProtectOptions): Diagnostic | undefined {
  const hasSubgroups = new Set(options.features).has("subgroups");
  if (settings.channel === "subgroup" && !hasSubgroups) return subgroupsMissing("the subgroup channel");
  if (!settings.redundancy.startsWith("intra")) return undefined;
  if (settings.pairing === "half-subgroup" && !hasSubgroups)
    return subgroupsMissing("the pairing half-subgroup");
  if (settings.pairing === "subgroups" && settings.channel === "subgroup")
    return pairingConflict("channel", "replicas in different subgroups can't exchange registers");
  if (settings.pairing === "subgroups" && settings.check === "store")
    return pairingConflict("check", "replicas in different subgroups meet only at the end of a kernel");
  return undefined;
}

/** The bind group behind all that the module uses, or else the first gap, or else a free binding of the last group. */
function freeBinding(source: Program, maxBindGroups: number): BindingPoint {
  const points = bindingPointsOf(source);
  const used = new Set(points.map(({ group }) => group));
  const behind = Math.max(-1, ...used) + 1;
  if (behind < maxBindGroups) return { group: behind, binding: 0 };
  const last = maxBindGroups - 1;
  for (let group = 0; group < last; group++) if (!used.has(group)) return { group, binding: 0 };
  const taken = new Set(points.filter(({ group }) => group === last).map(({ binding }) => binding));
  let binding = 0;
  while (taken.has(binding)) binding++;
  return { group: last, binding };
}

interface Transformed extends Omit<ProtectResult, "diagnostics" | "entryPoints"> {
  readonly entryPoints: readonly ProtectedEntryPoint[];
}

type ProtectedEntryPoint = Omit<EntryPointSummary, "bindings">;

/** The pipeline: each step takes a typed program and leaves a valid module, which is typed again for the next. */
function transform(
  { program: normal, unique, entryPoints }: Prepared,
  names: Names,
  { redundancy, check, pairing, channel, limits, report, injectFaults: inject }: Settings,
): Transformed {
  const cells = redundancy === "inter" && check === "signature" ? cellCount : 0;
  const layout: ReportLayout = { ...report, bytes: 4 * (reportWords.total + cells), cells };
  const sites = new CheckSites();
  let faultSites: readonly FaultSite[] = [];
  let program = normal;
  const step = (module: Module) => {
    program = checked(module);
  };
  const kernels = () => functionsOf(program).filter((fn) => entryPoints.has(fn.name));
  /** The functions that run protected, as the program now has them. */
  const functions = () => reachableFrom(program, kernels());
  const lanes = lanesOf(program, kernels(), limits);

  // The report, and faults at the values of the source.
  step(declareReport(program, names, layout));
  if (inject) {
    const injected = injectFaults(program, names, { functions: functions() });
    faultSites = injected.faultSites;
    step(injected.module);
  }

  // Redundancy: everything twice, one execution of atomics, comparison of what leaves, two copies of workgroup memory.
  const replicas = redundancy === "none" ? 1 : 2;
  const subgroups = replicas === 2 && channel === "subgroup";
  const intra = redundancy.startsWith("intra");
  if (subgroups || (intra && pairing === "half-subgroup")) step(enableSubgroups(program));
  if (redundancy === "inter") step(replicateWorkgroups(program, names, { entryPoints }));
  else step(replicateInvocations(program, names, { replicas, pairing, entryPoints, subgroups }));
  if (replicas === 2) {
    const comparison = new Comparison(names, {
      channel,
      pairing,
      lanes,
      ...(cells > 0 && { cells: { count: cells, subgroups } }),
    });
    const isReplicated = (variable: GlobalVariable) => isInside(program, names, redundancy, variable);
    step(
      executeAtomicsOnce(program, names, {
        check,
        comparison,
        sites,
        functions: functions(),
        isReplicated,
      }),
    );
    step(
      compareStores(program, names, {
        check,
        comparison,
        sites,
        functions: functions(),
        entryPoints,
        isReplicated,
      }),
    );
    if (redundancy === "intra+lds")
      step(replicateWorkgroupMemory(program, names, { pairing, comparison, sites, functions: functions() }));
  }
  step(keepBindings(program, unique, { entryPoints }));
  return {
    code: print(program.module),
    layout,
    entryPoints: [...entryPoints].map((name) => protectedEntryPoint(name, redundancy, program, names, sites)),
    checks: sites.all,
    faultSites,
  };
}

/** The entry points of a program that stays as it is. */
function unprotected(source: Program, kernels: readonly FunctionDeclaration[]): EntryPointSummary[] {
  return kernels.map((kernel) => ({
    name: kernel.name,
    redundancy: "none",
    checks: [],
    usesReport: false,
    bindings: bindingAccesses(source, kernel),
  }));
}

function protectedEntryPoint(
  name: string,
  redundancy: Redundancy,
  program: Program,
  names: Names,
  sites: CheckSites,
): ProtectedEntryPoint {
  const reached = reachableFrom(
    program,
    functionsOf(program).filter((fn) => fn.name === name),
  );
  const functions = new Set([...reached].map((fn) => fn.name));
  const checks = sites.all.filter((site) => functions.has(site.functionName)).map((site) => site.id);
  const report = names.the("report");
  const usesReport = [...variablesOf(program, reached)].some((variable) => variable.name === report);
  const interGroup = redundancy === "inter" && {
    interGroup: { doubling: doublingOf(names), shadows: [], blocking: false },
  };
  return { name, redundancy, ...interGroup, checks, usesReport };
}

const hasError = (diagnostics: readonly Diagnostic[]) => diagnostics.some((d) => d.severity === "error");

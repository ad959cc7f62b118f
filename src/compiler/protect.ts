/** The compiler: source and options in, protected source out. Pure and deterministic. */
import { functionsOf, reachableFrom, stageOf } from "../analysis/callGraph.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { noComputeEntryPoint, subgroupsMissing } from "../diagnostics/protection.ts";
import { compareStores } from "../transforms/compareStores.ts";
import { Comparison } from "../transforms/comparison.ts";
import { declareReport } from "../transforms/declareReport.ts";
import { desugarLoops } from "../transforms/desugarLoops.ts";
import { enableSubgroups } from "../transforms/enableSubgroups.ts";
import { executeAtomicsOnce } from "../transforms/executeAtomicsOnce.ts";
import { expandSwizzles } from "../transforms/expandSwizzles.ts";
import { injectFaults } from "../transforms/injectFaults.ts";
import { Names } from "../transforms/names.ts";
import { normalizeAccesses } from "../transforms/normalizeAccesses.ts";
import { invocationsOf, replicateInvocations } from "../transforms/replicateInvocations.ts";
import { isReplicated, replicateWorkgroupMemory } from "../transforms/replicateWorkgroupMemory.ts";
import { CheckSites, type FaultSite, type ReportLayout, reportWords } from "../transforms/reportBuffer.ts";
import { resolvePointers } from "../transforms/resolvePointers.ts";
import { splitSharedFunctions } from "../transforms/splitSharedFunctions.ts";
import { uniqueNames } from "../transforms/uniqueNames.ts";
import type { FunctionDeclaration, GlobalVariable, Module } from "../wgsl/ast.ts";
import { parse } from "../wgsl/parser.ts";
import { print } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import type {
  Channel,
  Check,
  EntryPointSummary,
  KernelLimits,
  ProtectOptions,
  ProtectResult,
  Redundancy,
} from "./contract.ts";
import { coverageGaps } from "./coverage.ts";
import { obstacles } from "./eligibility.ts";

import { withConstants } from "./overrides.ts";

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
    return { ...unchanged([]), entryPoints: summaries(kernels, "none") };
  if (options.channel === "subgroup" && !new Set(options.features).has("subgroups"))
    return unchanged([subgroupsMissing()]);
  const sized = withConstants(source, options.constants ?? {});
  const eligible: FunctionDeclaration[] = [];
  const diagnostics: Diagnostic[] = [];
  for (const kernel of kernels) {
    const found = obstacles(source, sized, kernel, settings);
    if (found.length === 0) eligible.push(kernel);
    diagnostics.push(...found);
  }
  diagnostics.push(...coverageGaps(source, reachableFrom(source, eligible), settings.redundancy));
  if (options.strict && diagnostics.length > 0)
    return unchanged(diagnostics.map((d) => ({ ...d, severity: "error" })));
  if (eligible.length === 0) return { ...unchanged(diagnostics), entryPoints: summaries(kernels, "none") };
  const names = new Names(source);
  const unique = uniqueNames(source, names);
  if (hasError(unique.diagnostics)) return unchanged(unique.diagnostics);
  return { ...transform(resolve(unique.module), names, settings, eligible, kernels), diagnostics };
}

interface Settings {
  readonly redundancy: Redundancy;
  readonly check: Check;
  readonly channel: Channel;
  readonly limits: KernelLimits;
  /** The bind group of the report buffer; undefined when none is free. */
  readonly group: number | undefined;
  readonly injectFaults: boolean;
}

function settingsOf(source: Program, options: ProtectOptions): Settings {
  const { redundancy = "intra+lds", check = "signature", channel = "auto", reservedGroups = 0 } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const hasSubgroups = new Set(options.features).has("subgroups");
  return {
    redundancy,
    check,
    channel: channel === "auto" ? (hasSubgroups ? "subgroup" : "workgroup") : channel,
    limits,
    group: freeGroup(source, reservedGroups, limits.maxBindGroups),
    injectFaults: options.injectFaults ?? false,
  };
}

/** The bind group behind all that the module uses, or else the first gap; none below `reserved`. */
function freeGroup(source: Program, reserved: number, maxBindGroups: number): number | undefined {
  const used = new Set<number>();
  for (const declaration of source.module.declarations) {
    if (declaration.kind !== "globalVariable") continue;
    const group = declaration.attributes.find((a) => a.name === "group")?.args[0];
    const value = group && source.constantOf(group);
    if (value && "value" in value) used.add(Number(value.value));
  }
  const behind = Math.max(reserved, ...[...used].map((group) => group + 1));
  if (behind < maxBindGroups) return behind;
  for (let group = reserved; group < maxBindGroups; group++) if (!used.has(group)) return group;
  return undefined;
}

/** The pipeline: each step takes a typed program and leaves a valid module, which is typed again for the next. */
function transform(
  unique: Program,
  names: Names,
  { redundancy, check, channel, group = 0, injectFaults: inject }: Settings,
  eligible: readonly FunctionDeclaration[],
  kernels: readonly FunctionDeclaration[],
): Omit<ProtectResult, "diagnostics"> {
  const layout: ReportLayout = { group, binding: 0, bytes: 4 * reportWords.total };
  const sites = new CheckSites();
  let faultSites: readonly FaultSite[] = [];
  const entryPoints = new Set(eligible.map((kernel) => kernel.name));
  let program = unique;
  const step = (module: Module) => {
    program = checked(module);
  };
  /** The functions that run protected, as the program now has them. */
  const functions = () =>
    reachableFrom(
      program,
      functionsOf(program).filter((fn) => entryPoints.has(fn.name)),
    );

  // Preparation: names mean one thing, accesses stand alone and name their variable.
  step(splitSharedFunctions(program, names, entryPoints));
  step(desugarLoops(program));
  step(resolvePointers(program, names));
  step(normalizeAccesses(program, names));
  step(expandSwizzles(program, names));
  const lanes = lanesOf(program, entryPoints);

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
  if (subgroups) step(enableSubgroups(program));
  step(replicateInvocations(program, names, { replicas, entryPoints, subgroups }));
  if (replicas === 2) {
    const comparison = new Comparison(names, { channel, lanes });
    step(executeAtomicsOnce(program, names, { check, comparison, sites, functions: functions() }));
    const isInside = (variable: GlobalVariable) =>
      redundancy === "intra+lds" && isReplicated(program, names, variable);
    step(
      compareStores(program, names, {
        check,
        comparison,
        sites,
        functions: functions(),
        entryPoints,
        isReplicated: isInside,
      }),
    );
    if (redundancy === "intra+lds")
      step(replicateWorkgroupMemory(program, names, { comparison, sites, functions: functions() }));
  }
  return {
    code: print(program.module),
    layout,
    entryPoints: kernels.map(({ name }) =>
      summary(name, entryPoints.has(name) ? redundancy : "none", program, sites),
    ),
    checks: sites.all,
    faultSites,
  };
}

/** The typed program; a transform that leaves an invalid module has broken its contract. */
function checked(module: Module): Program {
  const program = resolve(module);
  const [error] = program.diagnostics.filter((d) => d.severity === "error");
  if (error) throw new Error(`a transform left an invalid module: ${error.message}\n${print(module)}`);
  return program;
}

/** Invocations of the largest doubled workgroup, as a WGSL expression. */
function lanesOf(program: Program, entryPoints: ReadonlySet<string>): string {
  const sizes = functionsOf(program)
    .filter((fn) => entryPoints.has(fn.name))
    .map((fn) => invocationsOf(program, fn));
  return `2u * ${[...new Set(sizes)].reduce((largest, size) => `max(${largest}, ${size})`)}`;
}

function summaries(kernels: readonly FunctionDeclaration[], redundancy: Redundancy): EntryPointSummary[] {
  return kernels.map(({ name }) => ({ name, redundancy, checks: [] }));
}

function summary(
  name: string,
  redundancy: Redundancy,
  program: Program,
  sites: CheckSites,
): EntryPointSummary {
  const roots = functionsOf(program).filter((fn) => fn.name === name);
  const reached = new Set([...reachableFrom(program, roots)].map((fn) => fn.name));
  const checks = sites.all.filter((site) => reached.has(site.functionName)).map((site) => site.id);
  return { name, redundancy, checks };
}

const hasError = (diagnostics: readonly Diagnostic[]) => diagnostics.some((d) => d.severity === "error");

/** The compiler: source and options in, protected source out. Pure and deterministic. */
import { bindingAccesses } from "../analysis/bindings.ts";
import { functionsOf, stageOf } from "../analysis/callGraph.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { noComputeEntryPoint, tooManyShapes } from "../diagnostics/protection.ts";
import { Names } from "../transforms/names.ts";
import { SpecializationLimit } from "../transforms/resolvePointers.ts";
import { uniqueNames } from "../transforms/uniqueNames.ts";
import type { FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import { parse } from "../wgsl/parser.ts";
import type { Program } from "../wgsl/program.ts";
import { resolve, versionsOf } from "../wgsl/resolve/index.ts";
import { rankConfigurations } from "./choice.ts";
import { refuseUnknown } from "./choices.ts";
import type { EntryPointSummary, ProtectOptions, ProtectResult, Redundancy, Structure } from "./contract.ts";
import { coverageGaps, loneInvocation, type Sphere } from "./coverage.ts";
import { obstacles } from "./eligibility.ts";
import { bracketed } from "./memoryPlan.ts";
import { withConstants } from "./overrides.ts";
import { transform } from "./pipeline.ts";
import { type Prepared, prepare } from "./prepare.ts";
import { conflictIn, type Settings, settingsOf } from "./settings.ts";

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
  const { redundancy, ...others } = options;
  return redundancy === "auto"
    ? protectAtLeastCost(wgsl, others)
    : protectAs(wgsl, { ...others, ...(redundancy && { redundancy }) });
}

const usuallyCovered: readonly Structure[] = ["ALU", "VRF", "LDS"];

/** In the first of the ranked ways that protects all that is asked for; otherwise in the one that protects most. */
function protectAtLeastCost(wgsl: string, options: Omit<ProtectOptions, "redundancy">): ProtectResult {
  const { cover = usuallyCovered, features = [], entryPoint } = options;
  const choice = { cover, features, ...(entryPoint && { entryPoint }) };
  let best: { result: ProtectResult; count: number } | undefined;
  for (const chosen of rankConfigurations(wgsl, choice)) {
    const { redundancy, check, channel, pairing } = chosen;
    const result = { ...protectAs(wgsl, { ...options, redundancy, check, channel, pairing }), chosen };
    const wanted = result.entryPoints.filter(({ name }) => !entryPoint || name === entryPoint);
    const count = wanted.filter((each) => each.redundancy !== "none").length;
    if (count > (best?.count ?? 0)) best = { result, count };
    if (wanted.length > 0 && count === wanted.length) break;
  }
  return best?.result ?? protectAs(wgsl, options);
}

interface FixedOptions extends ProtectOptions {
  readonly redundancy?: Redundancy;
}

function protectAs(wgsl: string, options: FixedOptions): ProtectResult {
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
  const hasCodes = settings.memory.coded.length > 0;
  if (settings.redundancy === "none" && !options.injectFaults && !hasCodes)
    return { ...unchanged([]), entryPoints: unprotected(source, kernels, settings) };
  const conflict = conflictIn(settings);
  if (conflict) return unchanged([conflict]);
  const names = new Names(source);
  const unique = uniqueNames(source, names, { hasCodes });
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
    const named = unique.module === source.module ? source : versionsOf(source)(unique.module);
    prepared = prepare(named, names, settings, new Set(eligible.map(({ name }) => name)));
  } catch (error) {
    if (!(error instanceof SpecializationLimit)) throw error;
    return unchanged([tooManyShapes(error.span, error.message)]);
  }
  diagnostics.push(...prepared.diagnostics);
  const fit = eligible.filter(({ name }) => prepared.entryPoints.has(name));
  diagnostics.push(...coverageGaps(source, fit, settings, sphereOf(prepared)));
  diagnostics.push(
    ...functionsOf(sized)
      .filter(({ name }) => prepared.entryPoints.has(name))
      .flatMap((kernel) => loneInvocation(sized, kernel, settings)),
  );
  if (options.strict && diagnostics.length > 0)
    return unchanged(diagnostics.map((d) => ({ ...d, severity: "error" })));
  if (fit.length === 0)
    return { ...unchanged(diagnostics), entryPoints: unprotected(source, kernels, settings) };
  const result = transform(prepared, names, settings);
  const summaries = unprotected(source, kernels, settings).map((summary) => ({
    ...summary,
    ...result.entryPoints.find(({ name }) => name === summary.name),
  }));
  return { ...result, entryPoints: summaries, diagnostics };
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

/** The entry points of a program that stays as it is. */
function unprotected(
  source: Program,
  kernels: readonly FunctionDeclaration[],
  { memory }: Settings,
): EntryPointSummary[] {
  return kernels.map((kernel) => {
    const bindings = bindingAccesses(source, kernel);
    return {
      name: kernel.name,
      redundancy: "none",
      checks: [],
      usesReport: false,
      bindings,
      ...(memory.coded.length > 0 && { memory: bracketed(bindings, memory) }),
    };
  });
}

const hasError = (diagnostics: readonly Diagnostic[]) => diagnostics.some((d) => d.severity === "error");

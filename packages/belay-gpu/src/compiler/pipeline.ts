/** The transforms of a protection, in their order. */
import { tooDeepIn } from "../analysis/nesting.ts";
import type { Span } from "../diagnostics/diagnostic.ts";
import { armedTrigger } from "../transforms/faults/armedTrigger.ts";
import { countedWords, countingTrigger } from "../transforms/faults/countingTrigger.ts";
import { FaultSites } from "../transforms/faults/faultSites.ts";
import { injectFaults } from "../transforms/faults/injectFaults.ts";
import { strikeMachinery as machinerySites, nodesOf } from "../transforms/faults/strikeMachinery.ts";
import { Strikes } from "../transforms/faults/strikes.ts";
import { strikeWorkgroupMemory } from "../transforms/faults/strikeWorkgroupMemory.ts";
import { keepBindings } from "../transforms/normalize/keepBindings.ts";
import { arrivalWords, arriveBeforeStores } from "../transforms/redundancy/arriveBeforeStores.ts";
import { Comparison } from "../transforms/redundancy/comparison/comparison.ts";
import { declareReport } from "../transforms/redundancy/declareReport.ts";
import { enableSubgroups } from "../transforms/redundancy/enableSubgroups.ts";
import { mailboxBytes, mailWords } from "../transforms/redundancy/mailbox.ts";
import {
  CheckSites,
  cellCount,
  type ReportLayout,
  reportWords,
} from "../transforms/redundancy/reportBuffer.ts";
import { shadowBuffers } from "../transforms/redundancy/shadowBuffers.ts";
import type { Names } from "../transforms/shared/names.ts";
import { print } from "../wgsl/printer.ts";
import type { AnyNode } from "../wgsl/traverse.ts";
import { addCodes, checkingKernels } from "./addCodes.ts";
import type { ProtectResult } from "./contract.ts";
import { entryPointSummaries, type ProtectedEntryPoint } from "./entryPointSummaries.ts";
import { shadowBindings } from "./kernelPlan.ts";
import type { Prepared } from "./prepare.ts";
import { ProgramSteps } from "./programSteps.ts";
import { replicate } from "./replicate.ts";
import type { Settings } from "./settings.ts";
import { invocationCount, lanesOf } from "./workgroups.ts";

export interface Transformed extends Omit<ProtectResult, "diagnostics" | "entryPoints" | "renamed"> {
  readonly entryPoints: readonly ProtectedEntryPoint[];
  /** The entry points whose statements nest deeper than compilers take, and where they do. */
  readonly tooDeep: ReadonlyMap<string, Span>;
}

/** Protects a program, and tells of it by the names that its user has given. */
export function transform(prepared: Prepared, names: Names, settings: Settings): Transformed {
  const { unique, entryPoints, plans, memory: memoryPlans, replicated } = prepared;
  const { redundancy, check, pairing, channel, limits, report, subgroups, memory } = settings;
  const { injectFaults: inject, strikeMachinery } = settings;
  const intra = redundancy.startsWith("intra");
  const exchanges = redundancy !== "none" && channel === "subgroup";
  const sites = new CheckSites();
  const steps = new ProgramSteps(prepared);

  // What the report has to hold.
  const blocking = new Set([...plans].flatMap(([name, plan]) => (plan.blocking ? [name] : [])));
  const mail = mailWords(steps.kernels(blocking).map((kernel) => invocationCount(steps.program, kernel)));
  const cells = redundancy === "inter" && check !== "none" ? cellCount : 0;
  const arriving = [...plans].flatMap(([name, { arrival }]) => (arrival ? [{ name, arrival }] : []));
  const arrivals = arriving.length > 0 ? arrivalWords : 0;
  const bytes = 4 * (reportWords.total + cells + arrivals) + mailboxBytes(mail);
  const isProfile = inject === "profile";
  const layout: ReportLayout = { ...report, bytes, cells, ...(isProfile && { counts: bytes }) };
  const comparison = new Comparison(names, {
    channel: redundancy === "inter" ? "mailbox" : channel,
    check,
    pairing,
    lanes: lanesOf(steps.program, steps.kernels(), limits, pairing),
    ...(cells > 0 && { cells: { count: cells } }),
  });
  steps.take(
    declareReport(steps.program, names, { ...layout, mail, arrivals, pairs: redundancy === "inter" }),
  );

  // Where replicas arrive, and faults in the source.
  const faultSites = new FaultSites();
  const trigger = isProfile
    ? countingTrigger(names)
    : armedTrigger(names, { redundancy, pairing, subgroups });
  const struck = { sites: faultSites, strikes: new Strikes(names, trigger), entryPoints };
  const source = new Set([...steps.functions()].map(({ name }) => name));
  if (exchanges || (intra && pairing === "half-subgroup") || (inject && subgroups))
    steps.take(enableSubgroups(steps.program));
  if (arriving.length > 0)
    steps.take(
      arriveBeforeStores(steps.program, names, {
        comparison,
        isCompared: check !== "none",
        subgroups: exchanges,
        kernels: arriving.map(({ name, arrival: { at, inPlace, words } }) => ({
          ...{ arrival: at, inPlace, words },
          functions: steps.functions(name),
        })),
      }),
    );
  if (inject) {
    const functions = new Set([...steps.functions()].filter(({ name }) => source.has(name)));
    steps.take(injectFaults(steps.program, names, { ...struck, functions }));
  }

  const nodes = strikeMachinery ? nodesOf(steps.program) : new Set<AnyNode>();

  replicate(steps, names, prepared, settings, { comparison, sites, mail });
  if (inject) {
    const isShared = (variable: string) => intra && pairing !== "passes" && !replicated.has(variable);
    steps.take(
      strikeWorkgroupMemory(steps.program, names, { ...struck, functions: steps.functions(), isShared }),
    );
  }

  // Copies of buffers, and nothing that the program's layouts lack or miss.
  const codeBindings = checkingKernels(memoryPlans).length > 0 ? [memory.arena, memory.table] : [];
  const shadows = shadowBindings(unique, report, plans.values(), codeBindings);
  if (shadows.size > 0) {
    const kernels = [...plans].map(([name, { shadowed }]) => ({
      functions: steps.functions(name),
      shadowed,
    }));
    steps.take(shadowBuffers(steps.program, names, { comparison, shadows, kernels }));
  }
  steps.take(keepBindings(steps.program, unique, { entryPoints }));

  // Codes around the accesses that there are now.
  addCodes(steps, names, memoryPlans, settings);
  if (inject && strikeMachinery) {
    const isCopied = (variable: string) => redundancy !== "none" && replicated.has(variable);
    const machinery = { functions: steps.functions(), source: nodes, isReplicated: isCopied };
    steps.take(machinerySites(steps.program, names, { ...struck, ...machinery }));
  }
  return {
    code: print(steps.program.module),
    layout: isProfile ? { ...layout, bytes: bytes + 4 * countedWords(faultSites.all.length) } : layout,
    entryPoints: entryPointSummaries(steps, names, prepared, settings, { sites, shadows }),
    checks: sites.all.map((site) => ({ ...site, name: names.own(site.name) })),
    faultSites: faultSites.all.map((site) => ({ ...site, functionName: names.own(site.functionName) })),
    tooDeep: new Map(
      steps.kernels().flatMap(({ name }) => {
        const [span] = [...steps.functions(name)].flatMap((fn) => tooDeepIn(fn) ?? []);
        return span ? [[names.own(name), span] as const] : [];
      }),
    ),
  };
}

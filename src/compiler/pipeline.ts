/** The transforms of a protection, in their order. */
import { functionsOf, reachableFrom, variablesOf } from "../analysis/callGraph.ts";
import { compareStores } from "../transforms/compareStores.ts";
import { Comparison } from "../transforms/comparison/comparison.ts";
import { declareReport } from "../transforms/declareReport.ts";
import { enableSubgroups } from "../transforms/enableSubgroups.ts";
import { executeAtomicsOnce } from "../transforms/executeAtomicsOnce.ts";
import { injectFaults } from "../transforms/injectFaults.ts";
import { keepBindings } from "../transforms/keepBindings.ts";
import type { Names } from "../transforms/names.ts";
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
import type { GlobalVariable, Module } from "../wgsl/ast.ts";
import { print } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import type { EntryPointSummary, ProtectResult, Redundancy } from "./contract.ts";
import { checked, isInside, type Prepared } from "./prepare.ts";
import type { Settings } from "./settings.ts";
import { lanesOf } from "./workgroupSize.ts";

export interface Transformed extends Omit<ProtectResult, "diagnostics" | "entryPoints"> {
  readonly entryPoints: readonly ProtectedEntryPoint[];
}

type ProtectedEntryPoint = Omit<EntryPointSummary, "bindings">;

/** The pipeline: each step takes a typed program and leaves a valid module, which is typed again for the next. */
export function transform(
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

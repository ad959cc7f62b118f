import { variablesOf } from "../analysis/callGraph.ts";
import { mostArriving } from "../transforms/redundancy/arriveBeforeStores.ts";
import { patienceOf } from "../transforms/redundancy/mailbox.ts";
import { doublingOf } from "../transforms/redundancy/replicateWorkgroups.ts";
import type { CheckSites } from "../transforms/redundancy/reportBuffer.ts";
import type { Names } from "../transforms/shared/names.ts";
import type { BindingPoint, EntryPointSummary } from "./contract.ts";
import { shadowsOf } from "./kernelPlan.ts";
import { memorySummary } from "./memoryPlan.ts";
import type { Prepared } from "./prepare.ts";
import type { ProgramSteps } from "./programSteps.ts";
import type { Settings } from "./settings.ts";

/** What became of an entry point, but for what it does with the program's resources. */
export type ProtectedEntryPoint = Omit<EntryPointSummary, "bindings">;

/** What became of the protected entry points, once the last step is done. `shadows`: where copies are bound, by variable. */
export function entryPointSummaries(
  steps: ProgramSteps,
  names: Names,
  { program: normal, entryPoints, plans, memory: memoryPlans }: Prepared,
  { redundancy, memory }: Settings,
  { sites, shadows }: { readonly sites: CheckSites; readonly shadows: ReadonlyMap<string, BindingPoint> },
): ProtectedEntryPoint[] {
  return [...entryPoints].map((name) => {
    const plan = redundancy === "inter" ? plans.get(name) : undefined;
    const coded = memory.coded.length > 0 ? memoryPlans.get(name) : undefined;
    return {
      ...{ name: names.own(name), redundancy, ...usesOf(steps, names, sites, name) },
      ...(plan && {
        interGroup: {
          doubling: doublingOf(names),
          ...(plan.inTurn && { mostWorkgroups: mostArriving(plan.arrival?.words) }),
          shadows: shadowsOf(normal, plan, shadows),
          blocking: plan.blocking,
          ...(plan.blocking && { patience: patienceOf(names) }),
        },
      }),
      ...(coded && { memory: memorySummary(coded, memory) }),
    };
  });
}

/** The check sites that an entry point reaches, and whether it uses the report. */
function usesOf(steps: ProgramSteps, names: Names, sites: CheckSites, name: string) {
  const reached = steps.functions(name);
  const functions = new Set([...reached].map((fn) => fn.name));
  const checks = sites.all.filter((site) => functions.has(site.functionName)).map((site) => site.id);
  const report = names.the("report");
  const usesReport = [...variablesOf(steps.program, reached)].some((variable) => variable.name === report);
  return { checks, usesReport };
}

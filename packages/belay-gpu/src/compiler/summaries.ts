/** Summarizes the protection of each compute entry point for its host. */
import { mostArriving } from "../transforms/redundancy/lastArriverCommit.ts";
import { patienceOf } from "../transforms/redundancy/mailbox.ts";
import { doublingOf } from "../transforms/redundancy/replicateWorkgroups.ts";
import type { CheckSites } from "../transforms/redundancy/reportBuffer.ts";
import type { Names } from "../transforms/shared/names.ts";
import type { CompiledEntryPoint, InterGroup } from "./contract.ts";
import type { KernelFacts, ProgramFacts } from "./facts.ts";
import { memorySummary, passVerifiedSummary } from "./memoryPlan.ts";
import type { ProtectionPlan } from "./plan.ts";
import type { Settings } from "./settings.ts";

/** The parts of a summary that protection changes. */
type ProtectedEntryPoint = Omit<CompiledEntryPoint, "bindings">;

/** Summarizes an unprotected entry point. */
export function unprotectedSummary(
  { name, bindings }: KernelFacts,
  { memory }: Settings,
): CompiledEntryPoint {
  return {
    name,
    redundancy: "none",
    checks: [],
    usesReport: false,
    bindings,
    ...(memory.coded.length > 0 && { memory: passVerifiedSummary(bindings, memory) }),
  };
}

/** Summarizes a protected entry point. `facts` is about the program after the last pass. */
export function protectedSummary(
  name: string,
  plan: ProtectionPlan,
  facts: ProgramFacts,
  names: Names,
  sites: CheckSites,
): ProtectedEntryPoint {
  const { redundancy, memory, sums } = plan.settings;
  const { functions, variables } = facts.kernel(name);
  const reached = new Set([...functions].map((fn) => fn.name));
  const report = names.the("report");
  const interGroup = redundancy === "inter" ? interGroupOf(name, plan, names) : undefined;
  const coded = memory.coded.length > 0 ? plan.memory.get(name) : undefined;
  return {
    name: names.own(name),
    redundancy,
    checks: sites.all.filter((site) => reached.has(site.functionName)).map(({ id }) => id),
    usesReport: [...variables].some((variable) => variable.name === report),
    ...(interGroup && { interGroup }),
    ...(sums && { sums: { of: sums.of, at: sums.at, growth: sums.growth } }),
    ...(coded && { memory: memorySummary(coded, memory) }),
  };
}

function interGroupOf(
  name: string,
  { kernels, shadowsOf }: ProtectionPlan,
  names: Names,
): InterGroup | undefined {
  const plan = kernels.get(name);
  return (
    plan && {
      doubling: doublingOf(names),
      ...(plan.sequentialReplicas && { mostWorkgroups: mostArriving(plan.arrival?.words) }),
      shadows: shadowsOf.get(name)!,
      blocking: plan.blocking,
      ...(plan.blocking && { patience: patienceOf(names) }),
    }
  );
}

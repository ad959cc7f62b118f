import { compareStores } from "../transforms/redundancy/compareStores.ts";
import type { Comparison } from "../transforms/redundancy/comparison/comparison.ts";
import { executeAtomicsOnce } from "../transforms/redundancy/executeAtomicsOnce.ts";
import { repeatInvocations } from "../transforms/redundancy/repeatInvocations.ts";
import { replicateInvocations } from "../transforms/redundancy/replicateInvocations.ts";
import { replicateWorkgroupMemory } from "../transforms/redundancy/replicateWorkgroupMemory.ts";
import { replicateWorkgroups } from "../transforms/redundancy/replicateWorkgroups.ts";
import type { CheckSites } from "../transforms/redundancy/reportBuffer.ts";
import type { Names } from "../transforms/shared/names.ts";
import type { GlobalVariable } from "../wgsl/ast.ts";
import type { Prepared } from "./prepare.ts";
import type { ProgramSteps } from "./programSteps.ts";
import type { Settings } from "./settings.ts";

export interface ReplicationParts {
  readonly comparison: Comparison;
  readonly sites: CheckSites;
  /** Words of the mailbox of kernels whose replicas wait for each other. */
  readonly mail: number;
}

/** Redundancy: everything twice, one execution of atomics, comparison of what leaves, two copies of memory. */
export function replicate(
  steps: ProgramSteps,
  names: Names,
  { entryPoints, plans, replicated }: Prepared,
  { redundancy, check, pairing, channel }: Settings,
  { comparison, sites, mail }: ReplicationParts,
): void {
  const replicas = redundancy === "none" ? 1 : 2;
  if (redundancy === "inter") {
    const having = (has: (plan: NonNullable<ReturnType<typeof plans.get>>) => unknown) =>
      new Set([...plans].flatMap(([name, plan]) => (has(plan) ? [name] : [])));
    steps.take(
      replicateWorkgroups(steps.program, names, {
        ...{ entryPoints, mail },
        blocking: having(({ blocking }) => blocking),
        inTurn: having(({ inTurn }) => inTurn),
        arriving: having(({ arrival }) => arrival),
      }),
    );
  } else if (pairing === "passes") {
    steps.take(repeatInvocations(steps.program, names, { entryPoints, comparison }));
  } else {
    const subgroups = replicas === 2 && channel === "subgroup";
    steps.take(replicateInvocations(steps.program, names, { replicas, pairing, entryPoints, subgroups }));
  }
  if (replicas === 1) return;

  const isReplicated = ({ name }: GlobalVariable) => replicated.has(name);
  const common = { check, comparison, sites };
  // A kernel with a plan has functions of its own; those without are treated alike.
  const parts = plans.size === 0 ? [[undefined, undefined] as const] : plans;
  for (const [name, plan] of parts) {
    const mayWait = plan?.blocking ?? true;
    steps.take(
      executeAtomicsOnce(steps.program, names, {
        ...{ ...common, mayWait, functions: steps.functions(name) },
        isReplicated: plan ? ({ name }) => !plan.once.has(name) : isReplicated,
      }),
    );
    steps.take(
      compareStores(steps.program, names, {
        ...{ ...common, mayWait, functions: steps.functions(name), isReplicated },
        entryPoints: name === undefined ? entryPoints : new Set([name]),
        isShadowed: ({ name }) => plan?.shadowed.has(name) ?? false,
      }),
    );
  }
  if (redundancy !== "intra+lds" || pairing === "passes") return;
  const functions = steps.functions();
  steps.take(
    replicateWorkgroupMemory(steps.program, names, { pairing, comparison, sites, functions, isReplicated }),
  );
}

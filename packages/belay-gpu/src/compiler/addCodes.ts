import { schemeOf } from "../codes/scheme.ts";
import type { CheckedVariable } from "../transforms/memory/checkedVariable.ts";
import { protectMemory } from "../transforms/memory/protectMemory.ts";
import { sumAccesses } from "../transforms/memory/sumAccesses.ts";
import { enableSubgroups } from "../transforms/redundancy/enableSubgroups.ts";
import type { Names } from "../transforms/shared/names.ts";
import { exchangesLanes, isSumming, type MemoryPlan } from "./memoryPlan.ts";
import type { ProgramSteps } from "./programSteps.ts";
import type { Settings } from "./settings.ts";

/** Lets kernels check the memory that they load, and add up what they access, as planned. Comes behind redundancy. */
export function addCodes(
  steps: ProgramSteps,
  names: Names,
  plans: ReadonlyMap<string, MemoryPlan>,
  { memory }: Pick<Settings, "memory">,
): void {
  const { arena, table } = memory;
  const rows = memory.coded.length;
  const checking = checkingKernels(plans);
  if (checking.some(({ plan }) => exchangesLanes(plan))) steps.take(enableSubgroups(steps.program));
  if (checking.length > 0)
    steps.take(
      protectMemory(steps.program, names, {
        ...{ arena, table, rows },
        kernels: checking.map(({ name, arena, plan }) => ({
          ...{ arena, entryPoint: name, functions: steps.functions(name) },
          checked: checkedVariables(plan),
        })),
      }),
    );
  const summing = [...plans].filter(([, plan]) => isSumming(plan));
  if (summing.length === 0) return;
  steps.take(
    sumAccesses(steps.program, names, {
      ...{ slots: arena, table, rows },
      kernels: summing.map(([name, { variables }]) => ({
        ...{ entryPoint: name, functions: steps.functions(name) },
        summed: new Map(
          variables.flatMap(({ mode, index: row, site, isKnown = false, variable }) =>
            mode === "summed" ? [[variable.name, { row, site, isCounted: !isKnown }] as const] : [],
          ),
        ),
      })),
    }),
  );
}

/** The kernels that check a buffer themselves, and how they access the check words. */
export function checkingKernels(plans: ReadonlyMap<string, MemoryPlan>) {
  return [...plans].flatMap(([name, plan]) => (plan.arena ? [{ name, arena: plan.arena, plan }] : []));
}

/** By name. */
function checkedVariables({ variables }: MemoryPlan): Map<string, CheckedVariable> {
  const checked = variables.filter(({ mode }) => mode === "checked");
  return new Map(
    checked.map(({ index, scheme, variable: { name }, pieceBytes }) => [
      name,
      { name, index, scheme: schemeOf(scheme), ...(pieceBytes && { pieceBytes }) },
    ]),
  );
}

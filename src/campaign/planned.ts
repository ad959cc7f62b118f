import { drawFault, drawRestingFault, type Fault, type FaultModel } from "./faultModel.ts";
import type { Injected } from "./injections.ts";
import { classify } from "./outcome.ts";
import { injectionName, type Stratum, stratumName } from "./plan.ts";
import { digest } from "./random.ts";
import type { InjectionRecord, Settings, UnitRecord } from "./records.ts";
import type { Results } from "./results.ts";

/** One injection to be done. */
export interface Planned extends Stratum {
  readonly id: string;
  readonly number: number;
  readonly model: FaultModel;
  readonly fault: Fault;
}

/** The injections of one unit that are missing, in the order of their numbers. */
export interface Batch {
  readonly unit: UnitRecord;
  readonly planned: readonly Planned[];
}

/** Injections that cells still wait for, as far as their rounds are decided. */
export function missingInjections(results: Results): Batch[] {
  const { settings, shard } = results.header;
  const missing = new Map<UnitRecord, Planned[]>();
  for (const { strata, progress } of results.cells()) {
    if (progress.state !== "open") continue;
    for (const stratum of strata) {
      const name = stratumName({ ...stratum, ...stratum.unit });
      const done = results.numbersOf(name);
      const planned = missing.get(stratum.unit) ?? [];
      missing.set(stratum.unit, planned);
      for (let number = shard.index; number < progress.quota; number += shard.count) {
        if (!done.has(number)) planned.push(plan(stratum, name, number, settings));
      }
    }
  }
  return [...missing]
    .filter(([, planned]) => planned.length > 0)
    .map(([unit, planned]) => ({ unit, planned: planned.sort((a, b) => a.number - b.number) }));
}

function plan(stratum: Stratum, name: string, number: number, { seed, configurations }: Settings): Planned {
  const { unit, kernel, structure, models } = stratum;
  const injection = injectionName(seed, name, number);
  const { policy } = configurations.find(({ name }) => name === unit.configuration)!;
  const replicas = policy.redundancy === "none" ? 1 : 2;
  const struck = () => unit.kernels.find((each) => each.kernel === kernel)!;
  const drawn =
    structure === "memory"
      ? { model: "at-rest" as const, fault: drawRestingFault(injection, unit.buffers) }
      : drawFault(injection, struck(), structure, models, replicas);
  return { ...stratum, ...drawn, number, id: digest(injection) };
}

/** What a store keeps of an injection. */
export function recordOf(
  { unit, id, kernel, structure, model, number, fault }: Planned,
  injected: Injected,
): InjectionRecord {
  const detail = "lost" in injected ? injected.detail : injected.error;
  return {
    kind: "injection",
    id,
    ...{ program: unit.program, configuration: unit.configuration, kernel, structure, model, number, fault },
    outcome: "lost" in injected ? injected.lost : classify(injected),
    ...(detail !== undefined && { detail }),
  };
}

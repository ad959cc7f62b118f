import { drawFault, drawRestingFault, type Fault, type FaultModel } from "./model/faultModel.ts";
import { classify } from "./model/outcome.ts";
import { digest } from "./model/random.ts";
import type { CampaignSettings, InjectionRecord, Shard, UnitRecord } from "./model/records.ts";
import type { Injected } from "./processes/injections.ts";
import { injectionName, numbersBelow, type Stratum, stratumName } from "./results/plan.ts";
import type { Results } from "./results/results.ts";

/** One injection to be made. */
export interface PlannedInjection extends Stratum {
  readonly id: string;
  readonly number: number;
  readonly model: FaultModel;
  readonly fault: Fault;
}

/** The missing injections of one unit. */
export interface Missing {
  readonly unit: UnitRecord;
  /** The number of missing injections. */
  readonly count: number;
  /**
   * The missing injections in the order of their numbers. They are drawn one by one, because all of
   * them may not fit into memory.
   */
  readonly planned: IterableIterator<PlannedInjection>;
}

/** A stratum with the number of injections that its cell assigns to each stratum. */
interface Wanted {
  readonly stratum: Stratum;
  readonly name: string;
  readonly quota: number;
  readonly done: ReadonlySet<number>;
}

/** Returns the injections that are missing in the rounds decided so far. */
export function missingInjections(results: Results): Missing[] {
  const { settings, shard } = results.header;
  const wanted = new Map<UnitRecord, Wanted[]>();
  for (const { strata, progress } of results.cells()) {
    if (progress.state !== "open") continue;
    for (const stratum of strata) {
      const name = stratumName({ ...stratum, ...stratum.unit });
      const of = wanted.get(stratum.unit) ?? [];
      wanted.set(stratum.unit, of);
      of.push({ stratum, name, quota: progress.quota, done: results.numbersOf(name) });
    }
  }
  return [...wanted].flatMap(([unit, of]) => {
    const count = of.reduce((sum, { quota, done }) => {
      const doneBelow = [...done].filter((number) => number < quota).length;
      return sum + numbersBelow(quota, shard) - doneBelow;
    }, 0);
    return count > 0 ? [{ unit, count, planned: planOf(of, settings, shard) }] : [];
  });
}

function* planOf(
  wanted: readonly Wanted[],
  settings: CampaignSettings,
  shard: Shard,
): Generator<PlannedInjection> {
  const most = Math.max(...wanted.map(({ quota }) => quota));
  for (let number = shard.index; number < most; number += shard.count) {
    for (const { stratum, name, quota, done } of wanted) {
      if (number < quota && !done.has(number)) yield plan(stratum, name, number, settings);
    }
  }
}

function plan(
  stratum: Stratum,
  name: string,
  number: number,
  { seed, configurations }: CampaignSettings,
): PlannedInjection {
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

/** Returns the record of an injection. */
export function recordOf(
  { unit, id, kernel, structure, model, number, fault }: PlannedInjection,
  injected: Injected,
): InjectionRecord {
  const detail = "lost" in injected ? injected.detail : injected.error;
  return {
    kind: "injection",
    id,
    program: unit.program,
    configuration: unit.configuration,
    kernel,
    structure,
    model,
    number,
    fault,
    outcome: "lost" in injected ? injected.lost : classify(injected),
    ...(detail !== undefined && { detail }),
  };
}

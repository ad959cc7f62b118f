import { replicasIn } from "./model/configurations.ts";
import {
  drawFault,
  drawRestingFault,
  type Fault,
  type FaultModel,
  type StruckStructure,
} from "./model/faultModel.ts";
import { classify } from "./model/outcome.ts";
import { digest } from "./model/random.ts";
import type { CampaignSettings, InjectionRecord, Shard, UnitRecord } from "./model/records.ts";
import type { Injected } from "./processes/injections.ts";
import { injectionName, numbersBelow, type Stratum, strataOf, stratumName } from "./results/plan.ts";
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

/** The injections of one unit and structure with the numbers from `from` to before `to`. */
export interface InjectionRange {
  readonly structure: StruckStructure;
  readonly from: number;
  readonly to: number;
}

/** A part of a round: ranges of injections of one unit. */
export interface RoundPart {
  readonly unit: UnitRecord;
  readonly ranges: readonly InjectionRange[];
}

/** A part of a round with its number of injections. */
export interface SizedPart extends RoundPart {
  readonly size: number;
}

/**
 * Divides the injections that are missing in the rounds decided so far into parts. `mostOf` returns
 * the greatest number of injections in the next part of a unit. The parts are drawn one by one.
 */
export function* missingParts(results: Results, mostOf: (unit: UnitRecord) => number): Generator<SizedPart> {
  const open = results.cells().filter(({ progress }) => progress.state === "open");
  for (const unit of results.units) {
    let most = mostOf(unit);
    let [ranges, size]: [InjectionRange[], number] = [[], 0];
    for (const { structure, progress, strata } of open) {
      const done = strata
        .filter((stratum) => stratum.unit === unit)
        .map((stratum) => results.numbersOf(stratumName({ ...stratum, ...unit })));
      const isMissing = (number: number) => done.some((numbers) => !numbers.has(number));
      for (let from = 0; done.length > 0 && from < progress.quota; ) {
        if (!isMissing(from)) {
          from++;
          continue;
        }
        let to = from + 1;
        size += done.length;
        for (; to < progress.quota && size < most && isMissing(to); to++) size += done.length;
        ranges.push({ structure, from, to });
        from = to;
        if (size < most) continue;
        yield { unit, ranges, size };
        [ranges, size] = [[], 0];
        most = mostOf(unit);
      }
    }
    if (ranges.length > 0) yield { unit, ranges, size };
  }
}

/** Returns the injections of a part in order. They are a function of the seed and their numbers. */
export function* injectionsOf(
  { unit, ranges }: RoundPart,
  settings: CampaignSettings,
): Generator<PlannedInjection> {
  for (const { structure, from, to } of ranges) {
    const strata = strataOf([unit], { structures: [structure], models: settings.models });
    for (let number = from; number < to; number++) {
      for (const stratum of strata) {
        yield plan(stratum, stratumName({ ...stratum, ...unit }), number, settings);
      }
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
  const replicas = replicasIn(configurations.find(({ name }) => name === unit.configuration)!);
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

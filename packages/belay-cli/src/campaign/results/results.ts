import type { CampaignConfiguration } from "../model/configurations.ts";
import type { StruckStructure } from "../model/faultModel.ts";
import { type Outcome, outcomes } from "../model/outcome.ts";
import type {
  ControlRecord,
  Header,
  InjectionRecord,
  RefusalRecord,
  SkipRecord,
  StoreRecord,
  Unit,
  UnitRecord,
  WorkRecord,
} from "../model/records.ts";
import {
  type CellProgress,
  claims,
  isInside,
  numbersBelow,
  progressOf,
  type Stratum,
  strataOf,
  stratumName,
} from "./plan.ts";

/** An entry of the coverage table: a configuration and a structure. */
export interface CoverageCell {
  readonly configuration: CampaignConfiguration;
  readonly structure: StruckStructure;
  /** True if the configuration claims to detect faults in the structure. */
  readonly inside: boolean;
  readonly strata: readonly Stratum[];
  /** The number of planned injections that were made. */
  readonly made: number;
  /** The planned injections, in any order. */
  readonly injections: readonly InjectionRecord[];
  /**
   * The injections beyond the plan. A shard decides by its own results, and may inject more than
   * all shards together need.
   */
  readonly surplus: readonly InjectionRecord[];
  readonly progress: CellProgress;
}

/** The injections of an entry, and the progress that they have brought. */
interface CellRecords {
  readonly all: InjectionRecord[];
  progress?: CellProgress;
  /** The number of strata for which the progress is known. */
  strata: number;
  /** The number of injections in the plan of the progress. */
  made: number;
}

/** The results of a campaign so far. */
export class Results {
  readonly header: Header;
  #adapter: string | undefined;
  readonly units: UnitRecord[] = [];
  readonly controls: ControlRecord[] = [];
  readonly skipped: SkipRecord[] = [];
  readonly injections: InjectionRecord[] = [];
  /** The work of machines that share the campaign. */
  readonly work: WorkRecord[] = [];
  /** The refused workers by name. */
  readonly refusals = new Map<string, RefusalRecord>();
  /** The position of each unit. Units become known in any order. */
  readonly #ranks = new Map<string, number>();
  /** The numbers of the injections in each stratum. */
  readonly #numbers = new Map<string, Set<number>>();
  readonly #byCell = new Map<string, CellRecords>();

  constructor(header: Header, records: readonly StoreRecord[]) {
    this.header = header;
    const { programs, configurations } = header.settings;
    for (const [i, { name: program }] of programs.entries()) {
      for (const [j, { name: configuration }] of configurations.entries()) {
        this.#ranks.set(unitName({ program, configuration }), i * configurations.length + j);
      }
    }
    for (const record of records) this.add(record);
  }

  /** The adapter of all results; undefined before a device was opened. */
  get adapter(): string | undefined {
    return this.#adapter;
  }

  add(record: StoreRecord): void {
    switch (record.kind) {
      case "adapter":
        this.#adapter = record.description;
        break;
      case "unit":
        // A program that was left out may have been tried again.
        this.#remove(this.skipped, record);
        this.#put(this.units, record);
        break;
      case "control":
        this.#put(this.controls, record);
        break;
      case "skipped":
        if (!this.units.some((unit) => unitName(unit) === unitName(record))) this.#put(this.skipped, record);
        break;
      case "injection": {
        const stratum = stratumName(record);
        const numbers = this.#numbers.get(stratum) ?? new Set();
        if (numbers.has(record.number)) return;
        this.#numbers.set(stratum, numbers.add(record.number));
        const cell = this.#recordsOf(record);
        cell.all.push(record);
        if (cell.progress && record.number < cell.progress.quota) cell.made++;
        this.injections.push(record);
        break;
      }
      case "work":
        this.work.push(record);
        break;
      case "refused":
        this.refusals.set(record.worker, record);
    }
  }

  /** Inserts the record of a unit in order, and replaces an earlier record of the same unit. */
  #put<Record extends Unit>(records: Record[], record: Record): void {
    this.#remove(records, record);
    records.push(record);
    records.sort((a, b) => this.#ranks.get(unitName(a))! - this.#ranks.get(unitName(b))!);
  }

  #remove(records: Unit[], unit: Unit): void {
    const at = records.findIndex((each) => unitName(each) === unitName(unit));
    if (at >= 0) records.splice(at, 1);
  }

  /** Returns whether a unit was profiled or skipped. */
  knows(unit: Unit): boolean {
    const isIt = (each: Unit) => each.program === unit.program && each.configuration === unit.configuration;
    return this.units.some(isIt) || this.skipped.some(isIt);
  }

  /** Returns the configurations in which a program is neither profiled nor left out. */
  unknownConfigurations(program: string): string[] {
    return this.header.settings.configurations
      .map(({ name }) => name)
      .filter((configuration) => !this.knows({ program, configuration }));
  }

  /** Returns whether an injection with this place and number is among the results. */
  has(injection: InjectionRecord): boolean {
    return this.numbersOf(stratumName(injection)).has(injection.number);
  }

  numbersOf(stratum: string): ReadonlySet<number> {
    return this.#numbers.get(stratum) ?? new Set();
  }

  /** Returns every cell that has something to strike. */
  cells(): CoverageCell[] {
    const { settings } = this.header;
    return settings.configurations.flatMap((configuration) => {
      const units = this.units.filter((unit) => unit.configuration === configuration.name);
      const strataOfUnits = strataOf(units, settings);
      return settings.structures.flatMap((structure) => {
        const strata = strataOfUnits.filter((stratum) => stratum.structure === structure);
        if (strata.length === 0) return [];
        const inside = isInside(configuration, structure);
        const records = this.#recordsOf({ configuration: configuration.name, structure });
        const progress = this.#progressOf(records, { configuration, inside, strata: strata.length });
        const isPlanned = ({ number }: InjectionRecord) => number < progress.quota;
        return {
          configuration,
          structure,
          inside,
          strata,
          progress,
          made: records.made,
          get injections() {
            return records.all.filter(isPlanned);
          },
          get surplus() {
            return records.all.filter((injection) => !isPlanned(injection));
          },
        };
      });
    });
  }

  #recordsOf(cell: Parameters<typeof cellName>[0]): CellRecords {
    const name = cellName(cell);
    const records = this.#byCell.get(name) ?? { all: [], strata: 0, made: 0 };
    this.#byCell.set(name, records);
    return records;
  }

  /**
   * Returns the progress of a cell. It changes only when strata are added, or when a round is
   * complete, so a campaign looks at each injection once in a round.
   */
  #progressOf(
    records: CellRecords,
    { configuration, inside, strata }: Pick<CoverageCell, "configuration" | "inside"> & { strata: number },
  ): CellProgress {
    const { settings: goal, shard } = this.header;
    const { progress: known, made } = records;
    const isUnderWay = known?.state === "open" && made < strata * numbersBelow(known.quota, shard);
    if (known && records.strata === strata && (isUnderWay || known.state !== "open")) return known;
    const decisive = decidedBy(configuration, records.all, inside);
    const progress = progressOf(decisive, { strata, inside, goal, shard });
    records.progress = progress;
    records.strata = strata;
    records.made = records.all.filter(({ number }) => number < progress.quota).length;
    return progress;
  }

  /** Returns the number of injections made, and the number planned so far. */
  amount(): { done: number; total: number } {
    let [done, total] = [0, 0];
    for (const { strata, made, progress } of this.cells()) {
      done += made;
      total += strata.length * numbersBelow(progress.quota, this.header.shard);
    }
    return { done, total };
  }
}

/**
 * Returns the injections that decide a cell. Inside the sphere, faults that are not claimed count
 * as not injected.
 */
function decidedBy(
  configuration: CampaignConfiguration,
  injections: readonly InjectionRecord[],
  inside: boolean,
): readonly Pick<InjectionRecord, "number" | "outcome">[] {
  if (!inside) return injections;
  return injections.map((injection) =>
    claims(configuration, injection) ? injection : { ...injection, outcome: "notInjected" },
  );
}

const unitName = ({ program, configuration }: Unit) => `${program}/${configuration}`;

const cellName = ({ configuration, structure }: Pick<InjectionRecord, "configuration" | "structure">) =>
  `${configuration}/${structure}`;

/** The number of injections with each outcome. */
export type Counts = Readonly<Record<Outcome, number>>;

export function countOutcomes(injections: readonly Pick<InjectionRecord, "outcome">[]): Counts {
  const counts = Object.fromEntries(outcomes.map((outcome) => [outcome, 0])) as Record<Outcome, number>;
  for (const { outcome } of injections) counts[outcome]++;
  return counts;
}

/** Returns the number of injections that struck something. */
export const effective = (counts: Counts): number =>
  outcomes.reduce((sum, outcome) => sum + (outcome === "notInjected" ? 0 : counts[outcome]), 0);

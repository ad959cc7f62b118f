import type { CampaignConfiguration } from "./configurations.ts";
import type { StruckStructure } from "./faultModel.ts";
import { type Outcome, outcomes } from "./outcome.ts";
import {
  claims,
  isInside,
  numbersBelow,
  type Progress,
  progressOf,
  type Stratum,
  strataOf,
  stratumName,
} from "./plan.ts";
import type {
  ControlRecord,
  Header,
  InjectionRecord,
  SkipRecord,
  StoreRecord,
  Unit,
  UnitRecord,
} from "./records.ts";

/** A configuration and a structure: one entry of the coverage table. */
export interface Cell {
  readonly configuration: CampaignConfiguration;
  readonly structure: StruckStructure;
  /** Whether the configuration claims to detect these faults. */
  readonly inside: boolean;
  readonly strata: readonly Stratum[];
  readonly injections: readonly InjectionRecord[];
  readonly progress: Progress;
}

/** All that a campaign has found so far. */
export class Results {
  readonly header: Header;
  readonly units: UnitRecord[] = [];
  readonly controls: ControlRecord[] = [];
  readonly skipped: SkipRecord[] = [];
  readonly injections: InjectionRecord[] = [];
  /** Numbers of the injections, by stratum. */
  readonly #numbers = new Map<string, Set<number>>();
  readonly #byCell = new Map<string, InjectionRecord[]>();
  readonly #progress = new Map<string, { readonly basis: string; readonly progress: Progress }>();

  constructor(header: Header, records: readonly StoreRecord[]) {
    this.header = header;
    for (const record of records) this.add(record);
  }

  add(record: StoreRecord): void {
    switch (record.kind) {
      case "unit":
        this.units.push(record);
        break;
      case "control":
        this.controls.push(record);
        break;
      case "skipped":
        this.skipped.push(record);
        break;
      case "injection": {
        const stratum = stratumName(record);
        const numbers = this.#numbers.get(stratum) ?? new Set();
        if (numbers.has(record.number)) return;
        this.#numbers.set(stratum, numbers.add(record.number));
        const cell = cellName(record);
        this.#byCell.set(cell, this.#byCell.get(cell) ?? []);
        this.#byCell.get(cell)!.push(record);
        this.injections.push(record);
      }
    }
  }

  /** Whether a unit was profiled, or skipped. */
  knows(unit: Unit): boolean {
    const isIt = (each: Unit) => each.program === unit.program && each.configuration === unit.configuration;
    return this.units.some(isIt) || this.skipped.some(isIt);
  }

  numbersOf(stratum: string): ReadonlySet<number> {
    return this.#numbers.get(stratum) ?? new Set();
  }

  /** Every cell that has something to strike. */
  cells(): Cell[] {
    const { settings, shard } = this.header;
    return settings.configurations.flatMap((configuration) => {
      const units = this.units.filter((unit) => unit.configuration === configuration.name);
      const all = strataOf(units, settings);
      return settings.structures.flatMap((structure) => {
        const strata = all.filter((stratum) => stratum.structure === structure);
        if (strata.length === 0) return [];
        const name = cellName({ configuration: configuration.name, structure });
        const injections = this.#byCell.get(name) ?? [];
        const inside = isInside(configuration, structure);
        // Decided anew when there is more to decide by; units become known one by one.
        const basis = `${strata.length}/${injections.length}`;
        const known = this.#progress.get(name);
        const progress =
          known?.basis === basis
            ? known.progress
            : progressOf(decidedBy(configuration, injections, inside), {
                strata: strata.length,
                inside,
                goal: settings,
                shard,
              });
        this.#progress.set(name, { basis, progress });
        return [{ configuration, structure, inside, strata, injections, progress }];
      });
    });
  }

  /** Injections that are done, and planned as far as is known. */
  amount(): { done: number; planned: number } {
    let planned = 0;
    for (const { strata, progress } of this.cells()) {
      planned += strata.length * numbersBelow(progress.quota, this.header.shard);
    }
    return { done: this.injections.length, planned };
  }
}

/** Inside the sphere, what is not claimed decides nothing, as what strikes nothing. */
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

const cellName = ({ configuration, structure }: Pick<InjectionRecord, "configuration" | "structure">) =>
  `${configuration}/${structure}`;

/** How many injections had which outcome. */
export type Counts = Readonly<Record<Outcome, number>>;

export function countOutcomes(injections: readonly Pick<InjectionRecord, "outcome">[]): Counts {
  const counts = Object.fromEntries(outcomes.map((outcome) => [outcome, 0])) as Record<Outcome, number>;
  for (const { outcome } of injections) counts[outcome]++;
  return counts;
}

/** Injections that struck something. */
export const effective = (counts: Counts): number =>
  outcomes.reduce((sum, outcome) => sum + (outcome === "notInjected" ? 0 : counts[outcome]), 0);

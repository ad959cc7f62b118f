/** What a campaign has found, as a value: every rate with its interval. */
import type { Redundancy } from "../compiler/contract.ts";
import {
  type BitSummary,
  bitsOf,
  groupBy,
  type KernelSummary,
  kernelsOf,
  type LineSummary,
  linesOf,
} from "./breakdowns.ts";
import { type FaultModel, programStructures, type StruckStructure } from "./faultModel.ts";
import type { Outcome } from "./outcome.ts";
import { claims, isInside, type Progress, stratumName } from "./plan.ts";
import type { ControlRecord, Header, InjectionRecord, SkipRecord, Unit } from "./records.ts";
import type { Results } from "./results.ts";
import { type Tally, tally } from "./tally.ts";

/** The rates of one structure in one configuration. */
export interface CellSummary extends Tally {
  readonly configuration: string;
  readonly flavor: Redundancy;
  readonly structure: StruckStructure;
  readonly inside: boolean;
  readonly state: Progress["state"];
  /** Of the faults that the configuration claims to detect; undefined outside the sphere of replication. */
  readonly claimed?: Tally;
  /** Whether their interval shows that. */
  readonly holds?: boolean;
  readonly models: Readonly<Partial<Record<FaultModel, Tally>>>;
  /** The id of an injection to look at: a silent one, else one that was detected, else any. */
  readonly example: string | null;
}

/** What protection costs: host time of a clean run, its results read, to that of the plain program. */
export interface CostSummary extends Unit {
  readonly plain: number;
  readonly protected: number;
}

/** An entry of the coverage table in which no fault has struck. */
export interface Untested {
  readonly configuration: string;
  readonly structure: StruckStructure;
  /** Whether the configuration claims to cover the structure, which nothing has shown then. */
  readonly inside: boolean;
  readonly why: "nothing to strike" | "no injection" | "no injection has struck";
}

/** The parts of executed sites that belong to what protection adds, each site of one invocation counted once. */
export interface ShareSummary {
  readonly configuration: string;
  readonly machinery: number;
  /** Between comparison and store. */
  readonly window: number;
}

/** What a campaign has shown. */
export interface Summary {
  /** The stated coverage held, every control passed, and nothing was left out or is missing. */
  readonly ok: boolean;
  readonly problems: readonly string[];
  readonly settings: Header["settings"];
  readonly shard: Header["shard"];
  readonly adapters: readonly string[];
  readonly cells: readonly CellSummary[];
  /** Entries of the table of which nothing is known, as no fault has struck. */
  readonly untested: readonly Untested[];
  /** Injections that shards made past what all of them together need; they are in no rate. */
  readonly surplus: { readonly injections: number; readonly silent: number };
  readonly kernels: readonly KernelSummary[];
  readonly bits: readonly BitSummary[];
  readonly lines: readonly LineSummary[];
  readonly costs: readonly CostSummary[];
  /** Of the configurations in which protection itself is struck. */
  readonly shares: readonly ShareSummary[];
  readonly controls: Pick<ControlRecord, "runs" | "detections" | "different">;
  readonly skipped: readonly Omit<SkipRecord, "kind">[];
  /** Whose clean runs have not the bits of the plain program, but results that its own check accepts. */
  readonly otherBits: readonly Unit[];
  /** Parts of kernels that stay outside the sphere of replication. */
  readonly gaps: readonly (Unit & {
    readonly kernel: string;
    readonly line: number;
    readonly message: string;
  })[];
}

/** What the results of a campaign show: rates with their intervals, and what is wrong or missing. */
export function summarize(results: Results): Summary {
  const { settings, shard } = results.header;
  const { confidence, bound } = settings;
  const found = results.cells().map((cell) => ({ ...cell, injections: cell.injections.toSorted(byNumber) }));
  const injections = found.flatMap((cell) => cell.injections);
  const surplus = found.flatMap((cell) => cell.surplus);
  const cells = found.map((cell): CellSummary => {
    const { configuration, structure, inside, injections, progress } = cell;
    const claimed = tally(
      injections.filter((injection) => claims(configuration, injection)),
      confidence,
    );
    return {
      ...{ configuration: configuration.name, flavor: configuration.policy.redundancy },
      ...{ structure, inside, state: progress.state },
      ...tally(injections, confidence),
      ...(inside && { claimed, holds: claimed.sdc.high <= bound }),
      example: exampleOf(injections),
      models: Object.fromEntries(
        [...groupBy(injections, ({ model }) => model)].map(([model, of]) => [model, tally(of, confidence)]),
      ),
    };
  });
  const controls = results.controls.reduce(
    (sum, { runs, detections, different }) => ({
      runs: sum.runs + runs,
      detections: sum.detections + detections,
      different: sum.different + different,
    }),
    { runs: 0, detections: 0, different: 0 },
  );
  const untested = untestedOf(results, cells);
  const problems = problemsOf(results, cells, untested, controls);
  return {
    ok: problems.length === 0,
    problems,
    ...{ settings, shard, cells, untested, controls },
    adapters: [...new Set(results.units.map(({ adapter }) => adapter))],
    surplus: {
      injections: surplus.length,
      silent: surplus.filter(({ outcome }) => outcome === "sdc").length,
    },
    kernels: kernelsOf(injections, confidence),
    bits: bitsOf(injections, confidence),
    lines: linesOf(injections, results.units, confidence),
    costs: results.units.map(({ program, configuration, milliseconds }) => ({
      ...{ program, configuration },
      ...milliseconds,
    })),
    shares: sharesOf(results),
    skipped: results.skipped.map(({ kind: _, ...skipped }) => skipped),
    otherBits: results.units
      .filter(({ sameBits }) => !sameBits)
      .map(({ program, configuration }) => ({ program, configuration })),
    gaps: results.units.flatMap(({ program, configuration, gaps }) =>
      gaps.map((gap) => ({ program, configuration, ...gap })),
    ),
  };
}

function sharesOf({ header, units }: Results): ShareSummary[] {
  return header.settings.configurations.flatMap(({ name, policy }) => {
    if (!policy.strikeMachinery) return [];
    const sites = units
      .filter(({ configuration }) => configuration === name)
      .flatMap(({ kernels }) => kernels.flatMap((kernel) => kernel.sites));
    const executions = (of: readonly (typeof sites)[number][]) =>
      of.reduce((sum, site) => sum + site.executions, 0);
    const share = (part: "inside" | "window") =>
      executions(sites.filter(({ machinery }) => machinery === part)) / Math.max(1, executions(sites));
    return [{ configuration: name, machinery: share("inside"), window: share("window") }];
  });
}

function exampleOf(injections: readonly InjectionRecord[]): string | null {
  const telling: readonly Outcome[] = ["sdc", "unrecovered", "recovered", "corrected"];
  const found = telling.flatMap((outcome) => injections.find((each) => each.outcome === outcome) ?? []);
  return [...found, ...injections][0]?.id ?? null;
}

/** Orders injections of a cell by what names them, so that a summary is the same in whatever order they were made. */
function byNumber(a: InjectionRecord, b: InjectionRecord): number {
  if (a.number !== b.number) return a.number - b.number;
  return stratumName(a) < stratumName(b) ? -1 : 1;
}

/** The faults that an entry is judged by. */
const judgedBy = (cell: CellSummary): Tally => cell.claimed ?? cell;

/** Entries without a strike, of the configurations that have a program. */
function untestedOf({ header, units }: Results, cells: readonly CellSummary[]): Untested[] {
  const { configurations, structures } = header.settings;
  return configurations
    .filter(({ name }) => units.some(({ configuration }) => configuration === name))
    .flatMap((configuration) =>
      structures.flatMap((structure): Untested[] => {
        const cell = cells.find(
          (each) => each.configuration === configuration.name && each.structure === structure,
        );
        if (cell && judgedBy(cell).sdc.trials > 0) return [];
        const entry = {
          configuration: configuration.name,
          structure,
          inside: isInside(configuration, structure),
        };
        if (!cell) return [{ ...entry, why: "nothing to strike" }];
        const tried = judgedBy(cell).injections > 0;
        return [{ ...entry, why: tried ? "no injection has struck" : "no injection" }];
      }),
    );
}

/**
 * The entries that were to be tested, and were not. Those are the ones that are claimed, those in which something could have
 * been struck, and those of structures that were named and that no configuration has anything of.
 */
function missedOf(
  { header: { settings } }: Results,
  cells: readonly CellSummary[],
  untested: readonly Untested[],
): Untested[] {
  const areNamed = programStructures.some((structure) => !settings.structures.includes(structure));
  const isOpen = ({ configuration, structure }: Untested) =>
    cells.some(
      (cell) => cell.configuration === configuration && cell.structure === structure && cell.state === "open",
    );
  return untested.filter((entry) => {
    // What is not finished is said anyway.
    if (isOpen(entry)) return false;
    if (entry.inside || entry.why !== "nothing to strike") return true;
    return areNamed && cells.every(({ structure }) => structure !== entry.structure);
  });
}

function problemsOf(
  results: Results,
  cells: readonly CellSummary[],
  untested: readonly Untested[],
  { detections, different }: Summary["controls"],
): string[] {
  const { settings } = results.header;
  const percent = (rate: number) => `${(100 * rate).toPrecision(2)} %`;
  const missing = settings.programs.flatMap(({ name: program }) =>
    settings.configurations.filter(({ name: configuration }) => !results.knows({ program, configuration })),
  );
  const open = cells.filter(({ state }) => state === "open").length;
  return [
    ...results.skipped.map(
      ({ program, configuration, message }) => `${program}, ${configuration} is left out: ${message}`,
    ),
    ...(missing.length > 0 ? [`${missing.length} programs and configurations are not begun`] : []),
    ...(open > 0 ? [`${open} of ${cells.length} cells are not finished`] : []),
    ...(detections > 0 ? [`${detections} false alarms in runs without a fault`] : []),
    ...(different > 0 ? [`${different} runs without a fault gave other results`] : []),
    ...[
      ...groupBy(missedOf(results, cells, untested), ({ configuration, why }) => `${configuration}/${why}`),
    ].map(([, entries]) => {
      const { configuration, why } = entries[0]!;
      const structures = entries.map(({ structure }) => structure).join(", ");
      return `${configuration} was not tested in ${structures}: ${why}`;
    }),
    ...cells.flatMap(({ configuration, structure, state, claimed, holds }) =>
      state === "open" || !claimed || holds || claimed.sdc.trials === 0
        ? []
        : `${configuration} covers ${structure} less than claimed: ${claimed.sdc.events} of ${claimed.sdc.trials} faults are ` +
          `silent (at most ${percent(claimed.sdc.high)}, allowed ${percent(settings.bound)})`,
    ),
  ];
}

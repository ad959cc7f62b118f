/** The summary of a campaign as a value: every rate with its interval. */
import type { CampaignConfiguration } from "../model/configurations.ts";
import {
  type FaultModel,
  faultModels,
  modelsOf,
  programStructures,
  type StruckStructure,
} from "../model/faultModel.ts";
import { nameOf } from "../model/fingerprint.ts";
import type { Outcome } from "../model/outcome.ts";
import type {
  ControlRecord,
  Header,
  InjectionRecord,
  SkipRecord,
  Unit,
  UnitRecord,
} from "../model/records.ts";
import { type FaultWeights, studiedWeights } from "../model/weights.ts";
import {
  type BitSummary,
  bitsOf,
  groupBy,
  type KernelSummary,
  kernelsOf,
  type LineSummary,
  linesOf,
  type Tally,
  tally,
} from "./breakdowns.ts";
import { type CellProgress, claims, isInside, numbersBelow, strataOf, stratumName } from "./plan.ts";
import type { Results } from "./results.ts";
import { type WeightedRate, weightedMean } from "./statistics.ts";

/** The rates of one structure in one configuration. */
export interface CellSummary extends Tally {
  readonly configuration: string;
  readonly flavor: CampaignConfiguration["policy"]["redundancy"];
  readonly structure: StruckStructure;
  readonly inside: boolean;
  readonly state: CellProgress["state"];
  /** The number of injections planned so far, in all shards together. */
  readonly planned: number;
  /** The number of injections planned so far that are missing, of those in this shard. */
  readonly missing: number;
  /**
   * The outcomes of the faults that the configuration claims to detect. Undefined outside the
   * sphere of replication.
   */
  readonly claimed?: Tally;
  /**
   * True if the interval of silent corruption among claimed faults is within the bound. Undefined
   * outside the sphere, and while injections are missing, here or in other shards.
   */
  readonly holds?: boolean;
  readonly models: Readonly<Partial<Record<FaultModel, Tally>>>;
  /** The id of an injection to look at: a silent one, otherwise a detected one, otherwise any. */
  readonly example: string | null;
}

/**
 * The cost of protection: the host time of a clean run until its results are read, in milliseconds,
 * plain and protected.
 */
export interface CostSummary extends Unit {
  readonly plain: number;
  readonly protected: number;
}

/** An entry of the coverage table in which no fault has struck. */
export interface Unstruck {
  readonly configuration: string;
  readonly structure: StruckStructure;
  /** True if the configuration claims to cover the structure. */
  readonly inside: boolean;
}

/** An entry without knowledge, although the programs use the structure or may use it. */
export interface Untested extends Unstruck {
  readonly why:
    | "no injection"
    | "no injection has struck"
    | "none of the models strikes it"
    | "not every program was profiled"
    | "the programs have no buffer that can be struck at rest";
}

/** The shares of executions of sites that belong to the code that protection adds. */
export interface ShareSummary {
  readonly configuration: string;
  readonly machinery: number;
  /** The share between comparison and store. */
  readonly window: number;
}

/** The findings of a campaign. */
export interface Summary {
  /**
   * True if the claimed coverage held, every control passed, and nothing was left out or is
   * missing.
   */
  readonly ok: boolean;
  readonly problems: readonly string[];
  readonly settings: Header["settings"];
  readonly shard: Header["shard"];
  /** The adapter; null before a device was opened. */
  readonly adapter: string | null;
  readonly cells: readonly CellSummary[];
  /**
   * The entries of structures that the programs never use. A claim to cover these structures holds
   * without a fault.
   */
  readonly absent: readonly Unstruck[];
  /** The entries without knowledge, because no fault has struck. */
  readonly untested: readonly Untested[];
  /** The rates with the fault models weighted as a study reports them, and the weights. */
  readonly weighted: { readonly weights: FaultWeights; readonly cells: readonly WeightedCell[] };
  /** The workers that delivered results. None, if the campaign ran without a queue. */
  readonly workers: readonly WorkerSummary[];
  readonly refused: readonly RefusedWorker[];
  /** The injections of shards beyond the need of all shards together. No rate includes them. */
  readonly surplus: { readonly injections: number; readonly silent: number };
  readonly kernels: readonly KernelSummary[];
  readonly bits: readonly BitSummary[];
  readonly lines: readonly LineSummary[];
  readonly costs: readonly CostSummary[];
  /** The shares in configurations whose added code is also struck. */
  readonly shares: readonly ShareSummary[];
  readonly controls: Pick<ControlRecord, "runs" | "detections" | "different">;
  readonly skipped: readonly Omit<SkipRecord, "kind">[];
  /** The number of programs and configurations that are neither profiled nor left out. */
  readonly unbegun: number;
  /**
   * The units whose clean runs differ in bits from the plain program. The program's own check, if
   * it has one, accepts their results.
   */
  readonly otherBits: readonly Unit[];
  /** The parts of kernels outside the sphere of replication. */
  readonly gaps: readonly (Unit & {
    readonly kernel: string;
    readonly line: number;
    readonly message: string;
  })[];
}

/**
 * Summarizes the results of a campaign: rates with their intervals, and everything that is wrong or
 * missing. The `weights` decide no verdict.
 */
export function summarize(results: Results, weights: FaultWeights = studiedWeights): Summary {
  const { settings, shard } = results.header;
  const { confidence, bound } = settings;
  const found = results.cells().map((cell) => ({ ...cell, injections: cell.injections.toSorted(byNumber) }));
  const injections = found.flatMap((cell) => cell.injections);
  const surplus = found.flatMap((cell) => cell.surplus);
  const cells = found.map((cell): CellSummary => {
    const { configuration, structure, inside, injections, progress, strata } = cell;
    const claimed = tally(
      injections.filter((injection) => claims(configuration, injection)),
      confidence,
    );
    const { low, high } = claimed.sdc;
    const isWhole = shard.count === 1 || high <= bound || low > bound;
    const isDecided = inside && progress.state !== "open" && isWhole;
    return {
      configuration: configuration.name,
      flavor: configuration.policy.redundancy,
      structure,
      inside,
      state: progress.state,
      planned: strata.length * progress.quota,
      missing: Math.max(0, strata.length * numbersBelow(progress.quota, shard) - injections.length),
      ...tally(injections, confidence),
      ...(inside && { claimed }),
      ...(isDecided && { holds: high <= bound }),
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
  const unstruck = unstruckOf(results, cells);
  const unbegun = settings.programs.reduce(
    (sum, { name }) => sum + results.unknownConfigurations(name).length,
    0,
  );
  const problems = problemsOf(results, cells, unstruck, { controls, unbegun });
  return {
    ok: problems.length === 0,
    problems,
    settings,
    shard,
    cells,
    ...unstruck,
    controls,
    adapter: results.adapter ?? null,
    weighted: {
      weights,
      cells: found.map(({ configuration, structure, inside, injections }) => ({
        configuration: configuration.name,
        structure,
        inside,
        ...weigh(
          injections.filter((injection) => !inside || claims(configuration, injection)),
          structure,
          weights,
          confidence,
        ),
      })),
    },
    workers: workersOf(results),
    refused: [...results.refusals.values()].map(({ worker, reason }) => ({ worker, reason })),
    surplus: {
      injections: surplus.length,
      silent: surplus.filter(({ outcome }) => outcome === "sdc").length,
    },
    kernels: kernelsOf(injections, confidence),
    bits: bitsOf(injections, confidence),
    lines: linesOf(injections, results.units, confidence),
    costs: results.units.map(({ program, configuration, milliseconds }) => ({
      program,
      configuration,
      ...milliseconds,
    })),
    shares: sharesOf(results),
    unbegun,
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

/**
 * Orders injections of a cell by number and stratum, so that a summary does not depend on the order
 * of injection.
 */
function byNumber(a: InjectionRecord, b: InjectionRecord): number {
  if (a.number !== b.number) return a.number - b.number;
  return stratumName(a) < stratumName(b) ? -1 : 1;
}

/** Returns whether missing injections, here or in other shards, leave an entry undecided. */
export const isUnfinished = ({ state, inside, holds }: CellSummary): boolean =>
  state === "open" || (inside && holds === undefined);

/** Returns the faults by which an entry is judged. */
export const judgedBy = (cell: CellSummary): Tally => cell.claimed ?? cell;

/** Returns the entries without a strike, for configurations with at least one profiled program. */
function unstruckOf(results: Results, cells: readonly CellSummary[]): Pick<Summary, "absent" | "untested"> {
  const { configurations, structures } = results.header.settings;
  const [absent, untested]: [Unstruck[], Untested[]] = [[], []];
  for (const configuration of configurations) {
    const units = results.units.filter((unit) => unit.configuration === configuration.name);
    if (units.length === 0) continue;
    for (const structure of structures) {
      const inside = isInside(configuration, structure);
      const entry = { configuration: configuration.name, structure, inside };
      const cell = cells.find(isEntry(entry));
      if (cell && judgedBy(cell).sdc.trials > 0) continue;
      const why = cell ? whyNoStrike(cell) : whyNothingToStrike(results, units, structure);
      if (why) untested.push({ ...entry, why });
      else absent.push(entry);
    }
  }
  return { absent, untested };
}

/** Returns a test for entries of the same configuration and structure. */
export const isEntry =
  ({ configuration, structure }: Pick<Unstruck, "configuration" | "structure">) =>
  (other: Pick<Unstruck, "configuration" | "structure">): boolean =>
    other.configuration === configuration && other.structure === structure;

const whyNoStrike = (cell: CellSummary): Untested["why"] =>
  judgedBy(cell).injections > 0 ? "no injection has struck" : "no injection";

/**
 * Returns why faults have nothing to strike in a structure. Returns undefined if the programs
 * execute nothing of the structure. `units` are those of one configuration.
 */
function whyNothingToStrike(
  { header: { settings } }: Results,
  units: readonly UnitRecord[],
  structure: StruckStructure,
): Untested["why"] | undefined {
  if (strataOf(units, { structures: [structure], models: faultModels }).length > 0) {
    return "none of the models strikes it";
  }
  if (units.length < settings.programs.length) return "not every program was profiled";
  // Every program has memory.
  if (structure === "memory") return "the programs have no buffer that can be struck at rest";
  return undefined;
}

/**
 * Returns the structures that the command line names although no configuration has anything to
 * strike in them.
 */
function namedInVain({ header: { settings } }: Results, cells: readonly CellSummary[]): StruckStructure[] {
  const { structures } = settings;
  // The default is all structures of programs. They do not count as named.
  const isDefault = programStructures.every((structure) => structures.includes(structure));
  const named = isDefault
    ? structures.filter((structure) => !programStructures.includes(structure as never))
    : structures;
  return named.filter((structure) => cells.every((cell) => cell.structure !== structure));
}

/**
 * Returns the untested entries that count as a problem: claimed ones, those with something to
 * strike, and those of structures `inVain`.
 */
function missedOf(
  cells: readonly CellSummary[],
  untested: readonly Untested[],
  inVain: readonly StruckStructure[],
): Untested[] {
  return untested.filter((entry) => {
    const cell = cells.find(isEntry(entry));
    // Unfinished cells are counted in a problem of their own.
    if (cell?.state === "open") return false;
    return entry.inside || cell !== undefined || inVain.includes(entry.structure);
  });
}

function problemsOf(
  results: Results,
  cells: readonly CellSummary[],
  { absent, untested }: Pick<Summary, "absent" | "untested">,
  { controls: { detections, different }, unbegun }: Pick<Summary, "controls" | "unbegun">,
): string[] {
  const { settings, shard } = results.header;
  const percent = (rate: number) => `${(100 * rate).toPrecision(2)} %`;
  const unfinished = cells.filter(isUnfinished);
  const sum = (of: "injections" | "planned") => unfinished.reduce((total, cell) => total + cell[of], 0);
  const part = shard.count > 1 ? ` (shard ${nameOf(shard)})` : "";
  const inVain = namedInVain(results, cells);
  const absentInVain = inVain.filter((name) => absent.some(({ structure }) => structure === name));
  return [
    ...results.skipped.map(
      ({ program, configuration, message }) => `${program}, ${configuration} is left out: ${message}`,
    ),
    ...(unbegun > 0 ? [`${unbegun} programs and configurations are not begun`] : []),
    ...(unfinished.length > 0
      ? [
          `${unfinished.length} of ${cells.length} cells are not finished: ` +
            `${sum("injections")} of ${sum("planned")} injections${part}`,
        ]
      : []),
    ...(detections > 0 ? [`${detections} false alarms in runs without a fault`] : []),
    ...(different > 0 ? [`${different} runs without a fault gave other results`] : []),
    ...(absentInVain.length > 0 ? [`the programs execute nothing of ${absentInVain.join(", ")}`] : []),
    ...[
      ...groupBy(missedOf(cells, untested, inVain), ({ configuration, why }) => `${configuration}/${why}`),
    ].map(([, entries]) => {
      const { configuration, why } = entries[0]!;
      const structures = entries.map(({ structure }) => structure).join(", ");
      return `${configuration} was not tested in ${structures}: ${why}`;
    }),
    ...cells.flatMap(({ configuration, structure, claimed, holds }) =>
      !claimed || holds !== false || claimed.sdc.trials === 0
        ? []
        : `${configuration} ${claimed.sdc.low > settings.bound ? `covers ${structure} less than claimed` : `is not shown to cover ${structure} as claimed`}: ${claimed.sdc.events} of ${claimed.sdc.trials} faults are ` +
          `silent (at most ${percent(claimed.sdc.high)}, allowed ${percent(settings.bound)})`,
    ),
  ];
}

/**
 * The rate of silent corruption of one structure in one configuration, with fault models weighted
 * by the shares that a study reports.
 */
export interface WeightedCell {
  readonly configuration: string;
  readonly structure: StruckStructure;
  readonly inside: boolean;
  /** The rate of silent corruption. Undefined if no model with a weight has struck. */
  readonly sdc?: WeightedRate;
  /** The models with a weight that represent the structure and have not struck. */
  readonly unstruck: readonly FaultModel[];
}

/**
 * Weighs the injections of a cell. `injections` are those that count: inside the sphere of
 * replication the claimed ones.
 */
export function weigh(
  injections: readonly InjectionRecord[],
  structure: StruckStructure,
  { models }: FaultWeights,
  confidence: number,
): Pick<WeightedCell, "sdc" | "unstruck"> {
  const byModel = groupBy(injections, ({ model }) => model);
  const parts = faultModels.flatMap((model) => {
    const weight = models[model] ?? 0;
    const rate = tally(byModel.get(model) ?? [], confidence).sdc;
    return weight > 0 && modelsOf(structure).includes(model) ? [{ model, weight, rate }] : [];
  });
  const struck = parts.filter(({ rate }) => rate.trials > 0);
  const unstruck = parts.filter(({ rate }) => rate.trials === 0).map(({ model }) => model);
  return { ...(struck.length > 0 && { sdc: weightedMean(struck) }), unstruck };
}

/** The work of one worker. */
export interface WorkerSummary {
  /** The name of the worker: its host and process. */
  readonly worker: string;
  readonly jobs: number;
  readonly injections: number;
  /** The time in which the worker executed jobs, over all its processes. */
  readonly milliseconds: number;
  /** The injections per second of one process of the worker. */
  readonly perSecond: number;
}

/** A worker that the campaign has refused. */
export interface RefusedWorker {
  readonly worker: string;
  readonly reason: string;
}

/** Returns the work of each worker, the most injections first. */
export function workersOf({ work }: Pick<Results, "work">): WorkerSummary[] {
  const sums = new Map<string, { jobs: number; injections: number; milliseconds: number }>();
  for (const { worker, injections, milliseconds } of work) {
    const sum = sums.get(worker) ?? { jobs: 0, injections: 0, milliseconds: 0 };
    sum.jobs++;
    sum.injections += injections;
    sum.milliseconds += milliseconds;
    sums.set(worker, sum);
  }
  return [...sums]
    .map(([worker, sum]) => ({
      worker,
      ...sum,
      perSecond: sum.milliseconds === 0 ? 0 : (1000 * sum.injections) / sum.milliseconds,
    }))
    .sort((a, b) => b.injections - a.injections || (a.worker < b.worker ? -1 : 1));
}

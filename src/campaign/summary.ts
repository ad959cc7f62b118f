/** What a campaign has found, as a value: every rate with its interval. */
import type { Redundancy } from "../compiler/contract.ts";
import type { FaultModel, StruckStructure } from "./faultModel.ts";
import { struckBits } from "./faultModel.ts";
import type { Outcome } from "./outcome.ts";
import { claims, type Progress } from "./plan.ts";
import type { ControlRecord, Header, InjectionRecord, SkipRecord, Unit } from "./records.ts";
import { type Counts, countOutcomes, effective, type Results } from "./results.ts";
import { type Rate, wilson } from "./statistics.ts";

/** Outcomes of some injections. */
export interface Tally {
  readonly injections: number;
  readonly counts: Counts;
  /** Of those that struck something: how many ended in wrong results that nobody noticed. */
  readonly sdc: Rate;
  /** And how many were detected or corrected, or made a program end or hang, of those that were not masked. */
  readonly noticed: Rate;
}

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

export interface KernelSummary extends Tally, Unit {
  readonly kernel: string;
  readonly structure: StruckStructure;
}

/** Of faults that flip one bit. */
export interface BitSummary {
  readonly configuration: string;
  readonly bit: number;
  readonly sdc: Rate;
}

export interface LineSummary extends Unit {
  readonly kernel: string;
  readonly line: number;
  readonly sdc: Rate;
}

/** What protection costs: host time of a clean run, its results read, to that of the plain program. */
export interface CostSummary extends Unit {
  readonly plain: number;
  readonly protected: number;
}

export interface Summary {
  /** The stated coverage held, every control passed, and nothing was left out or is missing. */
  readonly ok: boolean;
  readonly problems: readonly string[];
  readonly settings: Header["settings"];
  readonly shard: Header["shard"];
  readonly adapters: readonly string[];
  readonly cells: readonly CellSummary[];
  /** The structures asked for that nothing in the programs stands for, so that nothing is known of them. */
  readonly unstruck: readonly StruckStructure[];
  readonly kernels: readonly KernelSummary[];
  readonly bits: readonly BitSummary[];
  readonly lines: readonly LineSummary[];
  readonly costs: readonly CostSummary[];
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

const noticedOutcomes: readonly Outcome[] = ["corrected", "recovered", "unrecovered", "crash", "hang"];

function tally(injections: readonly InjectionRecord[], confidence: number): Tally {
  const counts = countOutcomes(injections);
  const struck = effective(counts);
  const noticed = noticedOutcomes.reduce((sum, outcome) => sum + counts[outcome], 0);
  return {
    injections: injections.length,
    counts,
    sdc: wilson(counts.sdc, struck, confidence),
    noticed: wilson(noticed, noticed + counts.sdc, confidence),
  };
}

export function summarize(results: Results): Summary {
  const { settings, shard } = results.header;
  const { confidence, bound } = settings;
  const cells = results.cells().map((cell): CellSummary => {
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
  const unstruck = settings.structures.filter((each) => cells.every(({ structure }) => structure !== each));
  const problems = problemsOf(results, cells, controls);
  return {
    ok: problems.length === 0,
    problems,
    ...{ settings, shard, cells, unstruck, controls },
    adapters: [...new Set(results.units.map(({ adapter }) => adapter))],
    kernels: [...groupBy(results.injections, kernelOf).values()].map((of) => {
      const { program, configuration, kernel, structure } = of[0]!;
      return { program, configuration, kernel, structure, ...tally(of, confidence) };
    }),
    bits: bitsOf(results, confidence),
    lines: linesOf(results, confidence),
    costs: results.units.map(({ program, configuration, milliseconds }) => ({
      ...{ program, configuration },
      ...milliseconds,
    })),
    skipped: results.skipped.map(({ kind: _, ...skipped }) => skipped),
    otherBits: results.units
      .filter(({ sameBits }) => !sameBits)
      .map(({ program, configuration }) => ({ program, configuration })),
    gaps: results.units.flatMap(({ program, configuration, gaps }) =>
      gaps.map((gap) => ({ program, configuration, ...gap })),
    ),
  };
}

function exampleOf(injections: readonly InjectionRecord[]): string | null {
  const telling: readonly Outcome[] = ["sdc", "unrecovered", "recovered", "corrected"];
  // By their numbers, so that it is the same one in whatever order they were made.
  const ordered = injections.toSorted((a, b) => a.number - b.number);
  const found = telling.flatMap((outcome) => ordered.find((each) => each.outcome === outcome) ?? []);
  return [...found, ...ordered][0]?.id ?? null;
}

function problemsOf(
  results: Results,
  cells: readonly CellSummary[],
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
    ...(results.units.length > 0 && cells.length === 0
      ? [`no fault was injected: nothing can be struck in ${settings.structures.join(", ")}`]
      : []),
    ...(missing.length > 0 ? [`${missing.length} programs and configurations are not begun`] : []),
    ...(open > 0 ? [`${open} of ${cells.length} cells are not finished`] : []),
    ...(detections > 0 ? [`${detections} false alarms in runs without a fault`] : []),
    ...(different > 0 ? [`${different} runs without a fault gave other results`] : []),
    ...cells.flatMap(({ configuration, structure, state, claimed, holds }) =>
      state === "open" || !claimed || holds
        ? []
        : `${configuration} covers ${structure} less than claimed: ${claimed.sdc.events} of ${claimed.sdc.trials} faults are ` +
          `silent (at most ${percent(claimed.sdc.high)}, allowed ${percent(settings.bound)})`,
    ),
  ];
}

const kernelOf = ({ program, configuration, kernel, structure }: InjectionRecord) =>
  [program, configuration, kernel, structure].join("/");

/** By position of the bit, over all structures, where one bit was flipped. */
function bitsOf({ injections }: Results, confidence: number): BitSummary[] {
  const single = injections.flatMap((injection) => {
    const bits =
      injection.model === "single-bit" || injection.model === "at-rest"
        ? struckBits(injection.fault)
        : undefined;
    return bits === undefined ? [] : [{ injection, bit: Math.log2(bits) }];
  });
  const groups = groupBy(single, ({ injection, bit }) => `${injection.configuration}/${bit}`);
  return [...groups.values()]
    .map((of) => ({
      configuration: of[0]!.injection.configuration,
      bit: of[0]!.bit,
      sdc: tally(
        of.map(({ injection }) => injection),
        confidence,
      ).sdc,
    }))
    .sort((a, b) => a.bit - b.bit);
}

/** By line of the kernel's source. */
function linesOf({ injections, units }: Results, confidence: number): LineSummary[] {
  const lines = new Map<string, number>();
  for (const { program, configuration, kernels } of units) {
    for (const { kernel, source, sites } of kernels) {
      for (const { id, span } of sites) {
        lines.set(
          [program, configuration, kernel, id].join("/"),
          source.slice(0, span.start).split("\n").length,
        );
      }
    }
  }
  const placed = injections.flatMap((injection) => {
    const { program, configuration, kernel, fault } = injection;
    const line =
      "site" in fault ? lines.get([program, configuration, kernel, fault.site].join("/")) : undefined;
    return line === undefined ? [] : [{ injection, line }];
  });
  const groups = groupBy(placed, ({ injection, line }) =>
    [injection.configuration, injection.program, injection.kernel, line].join("/"),
  );
  return [...groups.values()].map((of) => {
    const { injection, line } = of[0]!;
    const { program, configuration, kernel } = injection;
    const all = of.map((each) => each.injection);
    return { program, configuration, kernel, line, sdc: tally(all, confidence).sdc };
  });
}

function groupBy<T, K>(items: readonly T[], key: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group) group.push(item);
    else groups.set(key(item), [item]);
  }
  return groups;
}

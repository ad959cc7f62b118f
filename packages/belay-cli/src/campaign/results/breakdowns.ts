/** The results of a campaign by kernel, by bit and by line of a source. */
import { type StruckStructure, struckBits } from "../model/faultModel.ts";
import type { Outcome } from "../model/outcome.ts";
import type { InjectionRecord, Unit, UnitRecord } from "../model/records.ts";
import { type Counts, countOutcomes, effective } from "./results.ts";
import { type Rate, wilson } from "./statistics.ts";

/** The outcomes of a set of injections. */
export interface Tally {
  readonly injections: number;
  readonly counts: Counts;
  /** The rate of silent corruption among the injections that struck something. */
  readonly sdc: Rate;
  /**
   * The rate of faults that were noticed (detected, corrected, crash or hang) among those that were
   * not masked.
   */
  readonly noticed: Rate;
}

const noticedOutcomes: readonly Outcome[] = ["corrected", "recovered", "unrecovered", "crash", "hang"];

export function tally(injections: readonly InjectionRecord[], confidence: number): Tally {
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

/** The rates of one kernel in one configuration. */
export interface KernelSummary extends Tally, Unit {
  readonly kernel: string;
  readonly structure: StruckStructure;
}

/** The rate of silent corruption for faults that flip one bit position. */
export interface BitSummary {
  readonly configuration: string;
  readonly bit: number;
  readonly sdc: Rate;
}

/** The rate of one line of a kernel. */
export interface LineSummary extends Unit {
  readonly kernel: string;
  readonly line: number;
  readonly sdc: Rate;
}

export function kernelsOf(injections: readonly InjectionRecord[], confidence: number): KernelSummary[] {
  return [...groupBy(injections, kernelOf).values()].map((of) => {
    const { program, configuration, kernel, structure } = of[0]!;
    return { program, configuration, kernel, structure, ...tally(of, confidence) };
  });
}

const kernelOf = ({ program, configuration, kernel, structure }: InjectionRecord) =>
  [program, configuration, kernel, structure].join("/");

/**
 * Returns the rates by position of the flipped bit, over all structures and all faults in one bit.
 */
export function bitsOf(injections: readonly InjectionRecord[], confidence: number): BitSummary[] {
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

/** Returns the rates by line of the kernels' sources. */
export function linesOf(
  injections: readonly InjectionRecord[],
  units: readonly UnitRecord[],
  confidence: number,
): LineSummary[] {
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

export function groupBy<T, K>(items: readonly T[], key: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group) group.push(item);
    else groups.set(key(item), [item]);
  }
  return groups;
}

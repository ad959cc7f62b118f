import type { ReportVerdict } from "belay-cli/internal/report/report";
import type { Fact, MeasuredOn } from "belay-cli/internal/shared/machine";
import type { Redundancy } from "belay-gpu/internal/compiler/contract";
import { plural } from "belay-gpu/internal/diagnostics/plural";
import type { EccResult } from "../../bench/ecc/ecc.ts";
import type { Ceilings } from "../../bench/measuring/ceilings.ts";
import type { Flavor } from "../../bench/measuring/configurations.ts";
import type { ProgramsResult } from "../../bench/programs/programs.ts";
import type { Measurement } from "../../bench/rmt/program.ts";
import type { RmtResult } from "../../bench/rmt/rmt.ts";
import type { SpeculationResult } from "../../bench/speculation/speculation.ts";
import type { ComparedCode } from "../../ecc/index.ts";

/** The result that `belay bench ecc --json` prints. */
export interface EccRun extends EccResult, MeasuredOn {
  readonly size: "small" | "full";
  readonly runs: number;
  readonly schemes: readonly ComparedCode[];
  readonly redundancy: Redundancy;
}

/** The result that `belay bench programs --json` prints. */
export interface ProgramsRun extends ProgramsResult, MeasuredOn {
  readonly size: "small" | "full";
  readonly runs: number;
  readonly warmup: number;
}

/** The result that `belay bench rmt --json` prints. */
export interface RmtRun extends RmtResult, MeasuredOn {
  readonly size: "small" | "full";
  readonly runs: number;
  readonly measure: readonly Measurement[];
  readonly flavors: readonly Flavor[];
  /** The commands that measured this; several if a run continued an earlier one. */
  readonly commands: readonly string[];
}

/** The result that `belay bench speculation --json` prints. */
export interface SpeculationRun extends SpeculationResult, MeasuredOn {
  readonly size: "small" | "documented" | "scaled" | "full";
  readonly runs: number;
  readonly threads: number;
  /** The compiler of the versions in C; null if there is none. */
  readonly compiler: string | null;
  /** The commands that measured this; several if one continued the result of another. */
  readonly commands: readonly string[];
}

/** Returns the rows that a report shows of a device's ceilings. */
export function ceilingFacts({ memory, cache, flops, integers, invocations }: Ceilings): readonly Fact[] {
  return [
    ["Copy, in memory", rate(memory, "B/s")],
    ["Copy, in the cache", rate(cache, "B/s")],
    ["Fused multiply-adds", rate(flops, "FLOP/s")],
    ["Integer multiply-adds", rate(integers, "op/s")],
    ["Copies of a word", rate(invocations, "/s")],
  ];
}

/** Returns a ratio in words; a missing one gives an empty text. */

export const ratio = (value: number | null | undefined) => (value == null ? "" : `${value.toFixed(2)}x`);

export const milliseconds = (value: number | undefined) =>
  value === undefined ? "" : `${value.toFixed(3)} ms`;

/** Returns a rate in units per second, as in `3.40 TB/s`, `12.5 GB/s` or `25 MB/s`. */
export function rate(value: number, unit: string): string {
  if (value >= 1e12) return `${(value / 1e12).toFixed(2)} T${unit}`;
  return value >= 1e9
    ? `${(value / 1e9).toFixed(1)} G${unit}`
    : `${Number((value / 1e6).toPrecision(2))} M${unit}`;
}

export const share = (value: number, of: number) => `${((100 * value) / of).toFixed(0)} %`;

/**
 * The measurements of a benchmark: their kind, and the names of the wrong and of the incomplete
 * ones.
 */
export interface Measurements {
  readonly count: number;
  readonly kind: string;
  readonly wrong: readonly string[];
  /** The names of those without a fault, for which the machine was too slow or the time ran out. */
  readonly incomplete: readonly string[];
  /** The summary if nothing is wrong, such as "every result right". */
  readonly right: string;
  /** A sentence that says what to do if nothing is wrong. */
  readonly next: string;
}

/**
 * Returns the verdict on measurements in words. Wrong results, and those that a slow machine did
 * not finish, are kept apart.
 */
export function judge({
  count,
  kind,
  wrong,
  incomplete,
  right,
  next,
}: Measurements): Pick<ReportVerdict, "ok" | "headline" | "next"> {
  const parts = [
    wrong.length > 0
      ? `${plural(wrong.length, kind)} of ${count} went wrong: ${wrong.join(", ")}`
      : `${plural(count, kind)} measured, ${right}`,
    ...(incomplete.length > 0
      ? [`not measured in full, as that took too long or the time was up: ${incomplete.join(", ")}`]
      : []),
  ];
  const headline = parts.join("; ");
  if (wrong.length > 0)
    return {
      ok: false,
      headline,
      next: "Next: the tables name what is wrong. belay doctor tests the adapter.",
    };
  return incomplete.length > 0
    ? { ok: null, headline, next: "Next: the same command with --resume measures the rest." }
    : { ok: true, headline, next: `Next: ${next}` };
}

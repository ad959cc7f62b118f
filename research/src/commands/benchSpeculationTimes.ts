/** What was measured of a loop, in words. */
import type { Failed, TimedRuns } from "../bench/attempt.ts";
import type { SpeculationProgram } from "../bench/speculationProgram.ts";
import type { Measured } from "../bench/speculationVariant.ts";

export type Timed = TimedRuns | Failed | undefined;
export const isTimed = (times: Timed): times is TimedRuns => times !== undefined && "median" in times;
export const isMeasured = (measured: Measured | Failed | undefined): measured is Measured =>
  measured !== undefined && "right" in measured;

export function timesOf(measured: Measured | Failed | undefined, kind: "moved" | "resident"): Timed {
  return isMeasured(measured) ? measured[kind] : measured;
}

/** The programs of each size, with what a title says of it. */
export function bySize(
  programs: readonly SpeculationProgram[],
): { readonly programs: readonly SpeculationProgram[]; readonly suffix: string }[] {
  return [...new Set(programs.map(({ size }) => size))].map((size) => ({
    programs: programs.filter((program) => program.size === size),
    suffix: size === "small" ? "" : `, ${size}`,
  }));
}

export const titleOf = ({ name, size }: SpeculationProgram) => (size === "small" ? name : `${name}, ${size}`);

/** Three digits, or all that are in front of the point. */
export const digits = (value: number) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
export const milliseconds = (value: number) => `${digits(value)} ms`;
export const ratio = (value: number) => `${digits(value)}×`;
export const percent = (value: number) => `${digits(100 * value)} %`;

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

export const titleOf = ({ name, size }: SpeculationProgram) => (size === "small" ? name : `${name}, ${size}`);

export const milliseconds = (value: number) => `${value.toPrecision(3)} ms`;
export const ratio = (value: number) => `${value.toPrecision(3)}×`;
export const percent = (value: number) => `${(100 * value).toPrecision(3)} %`;

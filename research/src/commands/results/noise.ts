/** The noise of measurements, as figures show it: whiskers on bars, and a sentence about them. */
import type { ValueInterval } from "belay-cli/internal/report/report";
import type { Times } from "../../bench/measuring/timing.ts";

/**
 * Returns the quartiles of a value that is computed from a time. They are missing if there was one
 * run.
 */
export function quartilesOf(
  { lower, upper }: Times,
  runs: number,
  toValue: (milliseconds: number) => number,
): ValueInterval | undefined {
  if (runs === 1) return undefined;
  const [first, second] = [toValue(lower), toValue(upper)];
  return { low: Math.min(first, second), high: Math.max(first, second) };
}

/** Returns a sentence on the whiskers of bars, or on their absence. */
export const noiseOf = (runs: number, whiskers: string): string =>
  runs === 1
    ? "Each bar is one run, which says nothing about noise."
    : `A whisker spans the middle half of ${runs} runs: ${whiskers}.`;

/** The whiskers of ratios of protected to unprotected time. */
export const ofRatios = "the quartiles of protected time, over the median of unprotected time";

/** Rates in words. */
import type { Rate } from "../../campaign/results/statistics.ts";

/** `0.13 %`: as many digits as tell something. */
export function proportion(value: number): string {
  const percent = 100 * value;
  if (percent === 0) return "0 %";
  return `${Number(percent.toPrecision(percent < 10 ? 2 : 3))} %`;
}

/** A rate and its interval. */
export function percents({ rate, low, high, trials }: Rate): string {
  const [from, to] = [low, high].map((value) => proportion(value).slice(0, -2));
  return trials === 0 ? "" : `${proportion(rate)} (${from} to ${to})`;
}

export const atMost = ({ high }: Rate): string => `at most ${proportion(high)}`;

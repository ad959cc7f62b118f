/** Rates in words. */
import type { WeightedRate } from "../../campaign/results/statistics.ts";

/** Returns a rate as text such as `0.13 %`, with only significant digits. */
export function proportion(value: number): string {
  const percent = 100 * value;
  if (percent === 0) return "0 %";
  return `${Number(percent.toPrecision(percent < 10 ? 2 : 3))} %`;
}

/** Returns a rate and its interval as text; empty without trials. */
export function percents({ rate, low, high, trials }: WeightedRate): string {
  const [from, to] = [low, high].map((value) => proportion(value).slice(0, -2));
  return trials === 0 ? "" : `${proportion(rate)} (${from} to ${to})`;
}

export const atMost = ({ high }: WeightedRate): string => `at most ${proportion(high)}`;

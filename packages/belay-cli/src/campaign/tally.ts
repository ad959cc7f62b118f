import type { Outcome } from "./outcome.ts";
import type { InjectionRecord } from "./records.ts";
import { type Counts, countOutcomes, effective } from "./results.ts";
import { type Rate, wilson } from "./statistics.ts";

/** Outcomes of some injections. */
export interface Tally {
  readonly injections: number;
  readonly counts: Counts;
  /** Of those that struck something: how many ended in wrong results that nobody noticed. */
  readonly sdc: Rate;
  /**
   * And how many were detected or corrected, or made a program end or hang, of those that were not
   * masked.
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

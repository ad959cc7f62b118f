/** The worth of a check by algebra beside redundancy. */
import { workOfCheck } from "./checkKernels.ts";
import type { FoundSums } from "./sumsOfProducts.ts";

/** The circumstances in which a dispatch would be checked. */
export interface CheckCircumstances {
  /** The predicted time under redundancy, relative to that of the dispatch alone. */
  readonly costOfRedundancy: number;
  /** The least number of multiplications that a check has to save. */
  readonly leastMultiplications: number;
  /** True if the host decides about results. */
  readonly defers: boolean;
}

/** The dispatches of a check by which the device decides, relative to one by the host. */
const dispatchesToDecide = 2;

/** Returns the reason why a check of sums does not pay, if there is one. */
export function reasonAgainstCheck(
  { sums, activation }: FoundSums,
  { costOfRedundancy, leastMultiplications, defers }: CheckCircumstances,
): string | undefined {
  if (leastMultiplications === 0) return undefined;
  const saved = costOfRedundancy - 1 - workOfCheck(sums, activation);
  if (saved <= 0) return "redundancy is predicted to cost less";
  const toSave = defers ? leastMultiplications : dispatchesToDecide * leastMultiplications;
  const multiplications = sums.terms.reduce((product, { size }) => product * size, sums.count);
  const least = Math.ceil(toSave / saved);
  if (multiplications >= least) return undefined;
  const doubled = defers ? "" : ", twice as many as where the host decides";
  return `it has ${multiplications} multiplications, and a check pays from ${least} on${doubled}`;
}

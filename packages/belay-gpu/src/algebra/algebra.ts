import { flag, refuseUnknown, wholeFrom } from "../diagnostics/options.ts";
import type { SumsChecker } from "../runtime/context/sumsChecker.ts";
import type { SumsCheckStarter } from "../runtime/recording/sumsChecking.ts";
import { DeviceAlgebra } from "./deviceAlgebra.ts";

/**
 * The least number of multiplications that a check has to save by default. On an H200, programs
 * wait less for checked products from there on.
 */
export const defaultLeastMultiplications = 2 ** 29;

/** The options of `algebra`. */
export interface AlgebraOptions {
  /**
   * The least number of multiplications that a check has to save. Redundancy costs less for smaller
   * dispatches, as a check has some dispatches of its own. Default 2^29, half those of a product of
   * 1024 rows, columns and terms. It is twice as large where the device decides about results at
   * once. With 0, or under `redundancy: "algebra"`, dispatches of each size are
   * checked.
   */
  readonly leastMultiplications?: number;
  /**
   * True to look for sums when a dispatch is encoded, which then waits. Default false: the search
   * takes its time between other work of the host, and dispatches run under redundancy until then.
   */
  readonly searchesAtOnce?: boolean;
}

/**
 * Returns a checker for the policy of `harden`. A dispatch whose results are known to be sums of
 * products then runs once, and an identity checks its results. It runs again under redundancy, on
 * the device and at once, unless the check finds that the results are right. Devices can share a
 * checker.
 *
 * Throws a `TypeError` for an unknown option or an invalid value.
 */
export function algebra(options: AlgebraOptions = {}): SumsChecker {
  const known = { leastMultiplications: wholeFrom(0), searchesAtOnce: flag };
  refuseUnknown(options, known, " of the checker");
  const { leastMultiplications = defaultLeastMultiplications, searchesAtOnce = false } = options;
  const starter: SumsCheckStarter = {
    leastMultiplications,
    beginChecks: (context) => new DeviceAlgebra(context, { leastMultiplications, searchesAtOnce }),
  };
  return starter;
}

/** A check of dispatches by algebra. `algebra` of `belay-gpu/algebra` returns one. */
export interface SumsChecker {
  /** The least number of multiplications that a check has to save. */
  readonly leastMultiplications: number;
}

/** The results of the checks of one kernel's dispatches. */
export interface SumsReport {
  /**
   * The number of dispatches that were checked, each counted once even if it ran again. All others
   * ran under redundancy.
   */
  readonly checked: number;
  /** The number of checked dispatches with a wrong result, which were computed again. */
  readonly repaired: number;
  /**
   * The number of checked dispatches whose numbers allow no verdict. They were computed again under
   * redundancy.
   */
  readonly undecided: number;
  /**
   * The number of dispatches for which check and redundancy disagreed. None of their kind is
   * checked any more.
   */
  readonly refuted: number;
  /** The largest bound: an error of a result below it may go unnoticed. */
  readonly bound: number;
}

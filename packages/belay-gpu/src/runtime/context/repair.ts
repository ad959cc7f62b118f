/** A dispatch with a wrong result that a check by algebra found, and that was computed again. */
export interface Repair {
  /** The name of the kernel: the label of its pipeline, or else its entry point. */
  readonly kernel: string;
  /** The kernel's entry point. */
  readonly entryPoint: string;
  /** The index of the first result of the weighted sum; absent if the check itself did not run. */
  readonly result?: number;
  /** The difference of the weighted sums. It may be no finite number. */
  readonly difference?: number;
  /** The bound of the difference. */
  readonly bound?: number;
  /** The number of dispatches of this kind that were repaired since the last check. */
  readonly count: number;
  /** The repair in words. */
  readonly message: string;
}

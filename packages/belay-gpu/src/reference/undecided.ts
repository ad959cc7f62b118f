/**
 * Ends the execution of a workgroup whose results the specification does not fix. For example, a
 * branch or an integer depends on rounding, an index is out of bounds, or a loop exceeds its
 * budget.
 */
export class Undecided extends Error {
  override readonly name = "Undecided";
  /** True if the specification allows several roundings, which lead to different results. */
  readonly byRounding: boolean;

  constructor(message: string, byRounding = false) {
    super(message);
    this.byRounding = byRounding;
  }
}

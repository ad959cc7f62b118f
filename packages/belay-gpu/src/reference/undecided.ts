/**
 * Ends the execution of a workgroup whose results the specification does not fix. For example, a
 * branch or an integer depends on rounding, an index is out of bounds, or a loop exceeds its
 * budget.
 */
export class Undecided extends Error {
  override readonly name = "Undecided";
  /** The cause, if it is one that others ask for. */
  readonly by: "rounding" | "budget" | undefined;

  constructor(message: string, by?: "rounding" | "budget") {
    super(message);
    this.by = by;
  }
}

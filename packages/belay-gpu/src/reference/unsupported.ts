import type { Span } from "../diagnostics/diagnostic.ts";

/** Ends the translation of a kernel with a construct that the reference executor does not have. */
export class Unsupported extends Error {
  override readonly name = "Unsupported";
  /** The place of the construct. */
  readonly span: Span;

  constructor(construct: string, span: Span) {
    super(construct);
    this.span = span;
  }
}

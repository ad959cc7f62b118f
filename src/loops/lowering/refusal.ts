import type { Diagnostic } from "../../diagnostics/diagnostic.ts";

/** Ends the translation of one statement; what catches it goes on with the next, so that several findings come at once. */
export class Refusal extends Error {
  readonly diagnostic: Diagnostic;

  constructor(diagnostic: Diagnostic) {
    super(diagnostic.message);
    this.diagnostic = diagnostic;
  }
}

export function refuse(diagnostic: Diagnostic): never {
  throw new Refusal(diagnostic);
}

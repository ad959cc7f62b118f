import type { Diagnostic } from "belay-gpu/internal/diagnostics/diagnostic";

/**
 * An error that ends the translation of one statement. The translation goes on with the next
 * statement, so that all diagnostics come at once.
 */
export class LoopRefusal extends Error {
  /** The reason; null if it was reported before. */
  readonly diagnostic: Diagnostic | null;

  constructor(diagnostic: Diagnostic | null) {
    super(diagnostic?.message);
    this.diagnostic = diagnostic;
  }
}

export function refuse(diagnostic: Diagnostic | null): never {
  throw new LoopRefusal(diagnostic);
}

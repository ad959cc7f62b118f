import type { Diagnostic } from "belay-gpu/internal/diagnostics/diagnostic";

/**
 * Ends the translation of one statement; what catches it goes on with the next, so that several
 * findings come at once.
 */
export class LoopRefusal extends Error {
  /** Null where the reason has been told before. */
  readonly diagnostic: Diagnostic | null;

  constructor(diagnostic: Diagnostic | null) {
    super(diagnostic?.message);
    this.diagnostic = diagnostic;
  }
}

export function refuse(diagnostic: Diagnostic | null): never {
  throw new LoopRefusal(diagnostic);
}

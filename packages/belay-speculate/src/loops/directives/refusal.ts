import type { Diagnostic, Span } from "belay-gpu/internal/diagnostics/diagnostic";
import { loopError } from "../../diagnostics/loops.ts";

/** An error that ends the parsing of a malformed directive. */
export class DirectiveRefusal extends Error {
  readonly diagnostic: Diagnostic;

  constructor(diagnostic: Diagnostic) {
    super(diagnostic.message);
    this.diagnostic = diagnostic;
  }
}

export const malformed = (expected: string, found: string, span: Span) =>
  new DirectiveRefusal(loopError.malformedDirective(expected, found, span));

export const repeated = (clause: string, span: Span) =>
  new DirectiveRefusal(loopError.repeatedClause(clause, span));

/** Returns the result of `parse`, or the diagnostic of the error that it threw. */
export function orDiagnostic<Result>(parse: () => Result): Result | Diagnostic {
  try {
    return parse();
  } catch (thrown) {
    if (thrown instanceof DirectiveRefusal) return thrown.diagnostic;
    throw thrown;
  }
}

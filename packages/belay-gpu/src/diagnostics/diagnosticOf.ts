import type { Diagnostic, Severity, Span } from "./diagnostic.ts";

/** The parts of a diagnostic besides its message. */
export interface DiagnosticDetails {
  readonly notes?: readonly string[];
  readonly help?: string | undefined;
  readonly entryPoints?: readonly string[];
}

/** Returns a diagnostic with a code. */
export function diagnosticOf(
  severity: Severity,
  code: string,
  message: string,
  { start, end }: Span,
  { notes = [], help, entryPoints }: DiagnosticDetails = {},
): Diagnostic {
  return {
    // A caller may pass a node of a tree as the span, so only the span's own fields are copied
    // below.
    code,
    severity,
    message,
    span: { start, end },
    notes,
    ...(entryPoints && { entryPoints }),
    ...(help !== undefined && { help }),
  };
}

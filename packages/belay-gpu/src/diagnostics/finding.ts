import type { Diagnostic, Severity, Span } from "./diagnostic.ts";
import { codeOf, type DiagnosticName } from "./registry.ts";

/** The parts of a diagnostic besides its message. */
export interface DiagnosticDetails {
  readonly notes?: readonly string[];
  readonly help?: string | undefined;
  readonly entryPoints?: readonly string[];
}

function finding(
  severity: Severity,
  name: DiagnosticName,
  message: string,
  { start, end }: Span,
  { notes = [], help, entryPoints }: DiagnosticDetails = {},
): Diagnostic {
  return {
    // A caller may pass a node of a tree as the span, so only the span's own fields are copied
    // below.
    code: codeOf(name),
    severity,
    message,
    span: { start, end },
    notes,
    ...(entryPoints && { entryPoints }),
    ...(help !== undefined && { help }),
  };
}

/** Returns an error, which rejects the source or a part of it. */
export const error = (
  name: DiagnosticName,
  message: string,
  span: Span,
  explanation?: DiagnosticDetails,
): Diagnostic => finding("error", name, message, span, explanation);

/** Returns a warning about a gap in protection. */
export const warning = (
  name: DiagnosticName,
  message: string,
  span: Span,
  explanation?: DiagnosticDetails,
): Diagnostic => finding("warning", name, message, span, explanation);

/** Returns a fact about protection that is no gap. */
export const info = (
  name: DiagnosticName,
  message: string,
  span: Span,
  explanation?: DiagnosticDetails,
): Diagnostic => finding("info", name, message, span, explanation);

/** The span of a diagnostic without a place in the source. */
export const nowhere: Span = { start: 0, end: 0 };

import type { Diagnostic, Severity, Span } from "./diagnostic.ts";

/** What a diagnostic may say besides its message. */
export interface Explanation {
  readonly notes?: readonly string[];
  readonly help?: string | undefined;
  readonly entryPoints?: readonly string[];
}

function finding(
  severity: Severity,
  code: string,
  message: string,
  { start, end }: Span,
  { notes = [], help, entryPoints }: Explanation = {},
): Diagnostic {
  return {
    // Callers may give a node of a tree, which has more than its place.
    code,
    severity,
    message,
    span: { start, end },
    notes,
    ...(entryPoints && { entryPoints }),
    ...(help !== undefined && { help }),
  };
}

/** Refuses the source, or a part of it. */
export const error = (code: string, message: string, span: Span, explanation?: Explanation): Diagnostic =>
  finding("error", code, message, span, explanation);

/** Tells of a gap, or of something left as it is. */
export const warning = (code: string, message: string, span: Span, explanation?: Explanation): Diagnostic =>
  finding("warning", code, message, span, explanation);

/** Of something that has no place in the source. */
export const nowhere: Span = { start: 0, end: 0 };

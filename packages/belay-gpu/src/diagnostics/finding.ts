import type { Diagnostic, Span } from "./diagnostic.ts";
import { type DiagnosticDetails, diagnosticOf } from "./diagnosticOf.ts";
import { codeOf, type DiagnosticName } from "./registry.ts";

/** Returns an error, which rejects the source or a part of it. */
export const error = (
  name: DiagnosticName,
  message: string,
  span: Span,
  explanation?: DiagnosticDetails,
): Diagnostic => diagnosticOf("error", codeOf(name), message, span, explanation);

/** Returns a warning about a gap in protection. */
export const warning = (
  name: DiagnosticName,
  message: string,
  span: Span,
  explanation?: DiagnosticDetails,
): Diagnostic => diagnosticOf("warning", codeOf(name), message, span, explanation);

/** Returns a fact about protection that is no gap. */
export const info = (
  name: DiagnosticName,
  message: string,
  span: Span,
  explanation?: DiagnosticDetails,
): Diagnostic => diagnosticOf("info", codeOf(name), message, span, explanation);

/** The span of a diagnostic without a place in the source. */
export const nowhere: Span = { start: 0, end: 0 };

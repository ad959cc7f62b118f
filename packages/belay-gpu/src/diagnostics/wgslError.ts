import type { Diagnostic, Span } from "./diagnostic.ts";
import { type DiagnosticDetails, diagnosticOf } from "./diagnosticOf.ts";
import { type WgslDiagnosticName, wgslCodes } from "./wgslRegistry.ts";

/** Returns an error of the front end. */
export const wgslError = (
  name: WgslDiagnosticName,
  message: string,
  span: Span,
  explanation?: DiagnosticDetails,
): Diagnostic => diagnosticOf("error", wgslCodes[name], message, span, explanation);

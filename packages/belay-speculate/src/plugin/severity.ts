import type { Diagnostic } from "belay-gpu/internal/diagnostics/diagnostic";
import { codeOf } from "belay-gpu/internal/diagnostics/registry";

/**
 * A finding as it concerns a program that is built: a loop that is refused still runs as it stands,
 * so that is a warning, unless `strict` says otherwise. A directive that is wrong stays an error.
 */
export function asBuilt(diagnostic: Diagnostic, strict = false): Diagnostic {
  const { code, severity } = diagnostic;
  const isRefusal = code >= codeOf("unknown-iteration-count") && code < codeOf("unnamed-conflict");
  return severity === "error" && isRefusal && !strict ? { ...diagnostic, severity: "warning" } : diagnostic;
}

import { codeOf } from "belay-gpu/internal/diagnostics/registry";
import type { LoopDiagnostic } from "../loops/translate.ts";

/**
 * Returns a finding with its severity in a build. A refused loop still runs as it is written, so
 * its error becomes a warning unless `strict` is true. An error in a directive stays an error.
 */
export function asBuilt(diagnostic: LoopDiagnostic, strict = false): LoopDiagnostic {
  const { code, severity } = diagnostic;
  const isRefusal = code >= codeOf("unknown-iteration-count") && code < codeOf("unnamed-conflict");
  return severity === "error" && isRefusal && !strict ? { ...diagnostic, severity: "warning" } : diagnostic;
}

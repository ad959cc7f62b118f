import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { parse } from "../wgsl/parser.ts";
import type { Program } from "../wgsl/program.ts";
import { resolve } from "../wgsl/resolve/index.ts";

/** A typed module, or the diagnostics that say why it is not valid. */
export type ResolvedSource = { readonly program: Program } | { readonly diagnostics: readonly Diagnostic[] };

/** The most modules that are kept: enough for the pipelines that a program creates at once. */
const KEPT_SOURCES = 16;

/** The modules that were asked for last, the latest one at the end. */
const kept = new Map<string, ResolvedSource>();

/**
 * Parses and types a module. The same source soon afterwards gets the same program. A module is
 * protected first, and its dispatches are analyzed when the program submits them.
 */
export function resolvedSource(wgsl: string): ResolvedSource {
  const known = kept.get(wgsl) ?? read(wgsl);
  kept.delete(wgsl);
  kept.set(wgsl, known);
  for (const oldest of kept.keys()) if (kept.size > KEPT_SOURCES) kept.delete(oldest);
  return known;
}

function read(wgsl: string): ResolvedSource {
  const { module, diagnostics } = parse(wgsl);
  if (hasError(diagnostics)) return { diagnostics };
  const program = resolve(module);
  return hasError(program.diagnostics) ? { diagnostics: program.diagnostics } : { program };
}

const hasError = (diagnostics: readonly Diagnostic[]) =>
  diagnostics.some(({ severity }) => severity === "error");

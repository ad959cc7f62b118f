import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { loopError } from "../diagnostics/loops.ts";
import type { Loop } from "./ir.ts";
import { type HostCode, lowerLoop } from "./lowering/lowerLoop.ts";
import { sequentialSource } from "./sequential.ts";
import { parse } from "./source/parse.ts";
import { resolveScopes } from "./source/scopes.ts";
import { speculatedLoops } from "./source/speculatedLoops.ts";

export interface TranslatedLoop {
  readonly loop: Loop;
  /** JavaScript: an expression that is the loop's CPU version, a `SequentialLoop`. */
  readonly sequential: string;
  readonly host: HostCode;
  /** What a call of the engine replaces: the loop with its label, and the calls that are its directive. */
  readonly span: Span;
  /** Where the loop, or its label, starts. */
  readonly start: number;
  /** Whether the function around the loop is async, or there is none. */
  readonly mayAwait: boolean;
}

export interface Translation {
  readonly loops: readonly TranslatedLoop[];
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Translates the loops of a TypeScript or JavaScript file that have directives. `filename` decides the language. Loops that
 * cannot be translated are left out and have a diagnostic. Never throws on bad input.
 */
export function translate(source: string, filename: string): Translation {
  const { file, diagnostics } = parse(source, filename);
  if (!file) return { loops: [], diagnostics };
  const scopes = resolveScopes(file.program);
  const found = speculatedLoops(file, scopes);
  const loops: TranslatedLoop[] = [];
  const all = [...diagnostics, ...found.diagnostics];
  for (const one of found.loops) {
    const lowered = lowerLoop(file, scopes, one, found.directiveNames);
    all.push(...lowered.diagnostics);
    if (!lowered.result) continue;
    const { container, span, start } = one;
    const mayAwait = container.type === "Program" || ("async" in container && container.async === true);
    if (!mayAwait) all.push(loopError.notAsync(one.directive.span));
    loops.push({
      ...lowered.result,
      sequential: sequentialSource(lowered.result.loop),
      span,
      start,
      mayAwait,
    });
  }
  return { loops, diagnostics: all.sort((one, other) => one.span.start - other.span.start) };
}

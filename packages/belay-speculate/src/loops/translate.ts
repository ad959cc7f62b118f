import type { Diagnostic, Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { Node } from "oxc-parser";
import { loopError } from "../diagnostics/loops.ts";
import { sequentialSource } from "./javascript/sequential.ts";
import { type HostExpressions, lowerLoop } from "./lowering/lowerLoop.ts";
import { parse } from "./source/parse.ts";
import {
  type Binding,
  everyNode,
  isFunction,
  lookUp,
  resolveScopes,
  type Scope,
  type Scopes,
} from "./source/scopes.ts";
import { speculatedLoops, type UndirectedLoop } from "./source/speculatedLoops.ts";
import type { Loop } from "./tree/ir.ts";

export interface TranslatedLoop extends PlacedLoop {
  readonly loop: Loop;
  /** JavaScript: an expression that is the loop's CPU version, a `SequentialLoop`. */
  readonly sequential: string;
  readonly host: HostExpressions;
  /** The variable with the options of the loop's execution. */
  readonly options: string | null;
  /**
   * Variables that it uses and that calls share which may be under way at the same time, by numbers
   * of the file.
   */
  readonly shared: readonly number[];
}

/** A loop with a directive, as it stands in its file. */
export interface PlacedLoop {
  /** The loop with its label, and the calls that are its directive. */
  readonly span: Span;
  /** Where the loop, or its label, starts. */
  readonly start: number;
  /**
   * Whether the function around the loop is async, or the loop stands in a module outside all
   * functions.
   */
  readonly mayAwait: boolean;
  /** Whether the loop itself waits, or hands values out, before it ends. */
  readonly pauses: boolean;
  /** The names of values from outside that the loop has. */
  readonly names: readonly string[];
}

export interface Translation {
  readonly loops: readonly TranslatedLoop[];
  /** Loops that stay as they are. */
  readonly refused: readonly PlacedLoop[];
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Translates the loops of a TypeScript or JavaScript file that have directives. `filename` decides
 * the language. Outside of functions, a file in the format of CommonJS cannot wait. Loops that
 * cannot be translated are left out and have a diagnostic. Never throws on bad input.
 */
export function translate(
  source: string,
  filename: string,
  format: "commonjs" | "module" = "module",
): Translation {
  const { file, diagnostics } = parse(source, filename);
  if (!file) return { loops: [], refused: [], diagnostics };
  const scopes = resolveScopes(file.program);
  const found = speculatedLoops(file, scopes);
  const translated: (Omit<TranslatedLoop, "shared"> & Used)[] = [];
  const refused: PlacedLoop[] = [];
  const all = [...diagnostics, ...found.diagnostics];
  for (const one of found.loops) {
    const lowered = lowerLoop(file, scopes, one, found.directiveNames);
    all.push(...lowered.diagnostics);
    const place = placeOf(one, scopes, format);
    if (!lowered.result) {
      refused.push(place);
      continue;
    }
    const sequential = sequentialSource(lowered.result.loop);
    const hidden =
      hiddenGlobal(hostTexts(lowered.result.host), one.scope) ??
      hiddenGlobal([sequential], scopes.get(file.program)!);
    if (hidden) {
      all.push(loopError.hiddenGlobal(hidden.name, hidden.declaration));
      refused.push(place);
      continue;
    }
    if (!place.mayAwait) all.push(loopError.notAsync(one.directive.span));
    const options = one.directive.options?.name ?? null;
    translated.push({ ...lowered.result, ...place, sequential, options, container: one.container });
  }
  for (const one of found.malformed) {
    const place = placeOf(one, scopes, format);
    // Loops in it wait for their own turns.
    const hasLoops = found.loops.some(({ node }) => one.node.start <= node.start && node.end <= one.node.end);
    refused.push({ ...place, pauses: place.pauses || hasLoops });
  }
  const shared = sharedVariables(translated);
  const loops = translated.map(({ used, changed, container, ...loop }) => ({
    ...loop,
    shared: used.flatMap((binding) => (shared.includes(binding) ? [shared.indexOf(binding)] : [])),
  }));
  return { loops, refused, diagnostics: all.sort((one, other) => one.span.start - other.span.start) };
}

const hostTexts = ({ guards, first, step, count, inputs }: HostExpressions): readonly string[] => [
  ...guards,
  first,
  step,
  count,
  ...Object.values(inputs),
];

/**
 * What the program declares where generated code stands that means what JavaScript has under this
 * name.
 */
function hiddenGlobal(texts: readonly string[], scope: Scope): Binding | undefined {
  const globals = texts.flatMap((text) =>
    [...text.matchAll(/(?<![\w$.])(?:Math|Number|Object|NaN|Infinity|\w+Array)(?![\w$])/gu)].map(
      ([name]) => name,
    ),
  );
  return globals.map((name) => lookUp(scope, name)).find((binding) => binding && binding.kind !== "type");
}

/** The names that a loop uses and changes, and the function around it. */
interface Used {
  readonly used: readonly Binding[];
  readonly changed: readonly Binding[];
  readonly container: Node;
}

/**
 * Variables that loops change, and that loops in other functions than the one that declares them
 * use.
 */
function sharedVariables(loops: readonly Used[]): readonly Binding[] {
  const changed = new Set(loops.flatMap((loop) => loop.changed));
  return [...changed].filter((binding) =>
    loops.some(({ used, container }) => used.includes(binding) && functionOf(binding.scope) !== container),
  );
}

function functionOf({ node, parent }: Scope): Node {
  return parent && !isFunction(node) ? functionOf(parent) : node;
}

function placeOf(
  { node, scope, container, span, start }: UndirectedLoop,
  scopes: Scopes,
  format: "commonjs" | "module",
): PlacedLoop {
  const names = new Set<string>();
  let pauses = false;
  for (const [part, inner] of everyNode(node, scopes, scope)) {
    pauses ||= part.type === "AwaitExpression" || part.type === "YieldExpression";
    pauses ||= part.type === "ForOfStatement" && part.await;
    if (part.type !== "Identifier") continue;
    const binding = lookUp(inner, part.name);
    const isOutside = binding && binding === lookUp(scope, part.name);
    if (isOutside && ["import", "const", "let", "var", "parameter"].includes(binding.kind)) {
      names.add(part.name);
    }
  }
  const mayAwait =
    container.type === "Program" ? format === "module" : "async" in container && container.async === true;
  return { span, start, mayAwait, pauses, names: [...names] };
}

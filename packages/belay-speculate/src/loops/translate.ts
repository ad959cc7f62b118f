import type { Diagnostic, Span } from "belay-gpu/internal/diagnostics/diagnostic";
import { type RenderOptions, renderDiagnostic } from "belay-gpu/internal/diagnostics/render";
import type { Node } from "oxc-parser";
import { loopError } from "../diagnostics/loops.ts";
import { sequentialSource } from "./javascript/sequential.ts";
import { type HostExpressions, lowerLoop } from "./lowering/lowerLoop.ts";
import { Imports, type ModuleReader, type ModuleSource } from "./source/imports.ts";
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
import { type SpeculatedLoop, speculatedLoops, type UndirectedLoop } from "./source/speculatedLoops.ts";
import type { Loop } from "./tree/ir.ts";

/** A diagnostic, with its place in the file with the loops or in a module that the file imports. */
export interface LoopDiagnostic extends Diagnostic {
  /** The module with the place; undefined if it is in the file with the loops. */
  readonly module?: ModuleSource;
}

export interface TranslatedLoop extends PlacedLoop {
  readonly loop: Loop;
  /** The JavaScript expression of the loop's CPU version, a `SequentialLoop`. */
  readonly sequential: string;
  readonly host: HostExpressions;
  /** The variable with the options of the loop's execution. */
  readonly options: string | null;
  /** The variables of the loop that concurrent calls may share, by their numbers in the file. */
  readonly shared: readonly number[];
}

/** A loop with a directive, as it stands in its file. */
export interface PlacedLoop {
  /** The loop with its label and the calls that form its directive. */
  readonly span: Span;
  /** The position at which the loop, or its label, starts. */
  readonly start: number;
  /**
   * True if the function around the loop is async, or if the loop stands in a module outside all
   * functions.
   */
  readonly mayAwait: boolean;
  /** True if the loop itself waits, or yields values, before it ends. */
  readonly pauses: boolean;
  /** The names of the outer variables that the loop uses. */
  readonly names: readonly string[];
}

export interface Translation {
  readonly loops: readonly TranslatedLoop[];
  /** The loops that stay as they are. */
  readonly refused: readonly PlacedLoop[];
  readonly diagnostics: readonly LoopDiagnostic[];
}

/**
 * Translates the loops of a TypeScript or JavaScript file that have directives. `filename` decides
 * the language. A CommonJS file cannot wait outside of functions. A loop that cannot be translated
 * is refused and has a diagnostic. Never throws on bad input. `read` gives the modules whose
 * functions and constants loops use.
 */
export function translate(
  source: string,
  filename: string,
  format: "commonjs" | "module" = "module",
  read: ModuleReader = () => undefined,
): Translation {
  const { file, diagnostics } = parse(source, filename);
  if (!file) return { loops: [], refused: [], diagnostics };
  const scopes = resolveScopes(file.program);
  const found = speculatedLoops(file, scopes);
  const imports = new Imports(file, filename, scopes, read);
  const translated: (Omit<TranslatedLoop, "shared"> & Used)[] = [];
  const refused: PlacedLoop[] = [];
  const all = [...diagnostics, ...found.diagnostics];
  /** Adds a loop to the translated ones. Returns false if it is refused. */
  const attempt = (one: SpeculatedLoop): boolean => {
    const report = (...found: readonly Diagnostic[]) =>
      all.push(...found.map((each) => (one.isTried ? { ...each, severity: "warning" as const } : each)));
    imports.link(one.node, one.scope);
    const lowered = lowerLoop(file, imports, scopes, one, found.directiveNames);
    report(...lowered.diagnostics);
    if (!lowered.result) return false;
    const place = placeOf(one, scopes, format);
    const sequential = sequentialSource(lowered.result.loop, one.directive.precision === "f32");
    const hidden =
      hiddenGlobal(hostTexts(lowered.result.host), one.scope) ??
      hiddenGlobal([sequential], scopes.get(file.program)!);
    if (hidden) {
      report(loopError.hiddenGlobal(hidden.name, hidden.declaration));
      return false;
    }
    if (!place.mayAwait) report(loopError.notAsync(one.directive.span));
    const options = one.directive.options?.name ?? null;
    translated.push({ ...lowered.result, ...place, sequential, options, container: one.container });
    return true;
  };
  for (const one of found.loops) if (!attempt(one)) refused.push(placeOf(one, scopes, format));
  for (const one of refusedOf(found.tried, attempt)) {
    const place = placeOf(one, scopes, format);
    refused.push({
      ...place,
      pauses: place.pauses || translated.some(({ span }) => isInside(one.node, span)),
    });
  }
  for (const one of found.malformed) {
    const place = placeOf(one, scopes, format);
    // The loops inside this one wait for their own turns.
    const hasLoops = found.loops.some(({ node }) => isInside(one.node, node));
    refused.push({ ...place, pauses: place.pauses || hasLoops });
  }
  const shared = sharedVariables(translated);
  translated.sort((one, other) => one.start - other.start);
  const loops = translated.map(({ used, changed, container, ...loop }) => ({
    ...loop,
    shared: used.flatMap((binding) => (shared.includes(binding) ? [shared.indexOf(binding)] : [])),
  }));
  const located = all
    .sort((one, other) => one.span.start - other.span.start)
    .map((each) => inModule(each, imports.moduleAt(each.span)));
  return { loops, refused, diagnostics: located };
}

/** Renders a diagnostic with the lines of the file or module in which it is. */
export function renderLoopDiagnostic(
  diagnostic: LoopDiagnostic,
  source: string,
  options: RenderOptions,
): string {
  const { module } = diagnostic;
  return module
    ? renderDiagnostic(diagnostic, module.source, { ...options, file: module.filename })
    : renderDiagnostic(diagnostic, source, options);
}

/** Returns a diagnostic with its place in a module. */
function inModule(diagnostic: Diagnostic, module: ReturnType<Imports["moduleAt"]>): LoopDiagnostic {
  if (!module) return diagnostic;
  const { start, filename, source } = module;
  const span = { start: diagnostic.span.start - start, end: diagnostic.span.end - start };
  return { ...diagnostic, span, module: { filename, source } };
}

/**
 * Attempts to translate the outermost loops to try, and those inside of refused ones. Returns the
 * refused loops before which the host needs the arrays of other loops.
 */
function refusedOf(
  tried: readonly SpeculatedLoop[],
  attempt: (one: SpeculatedLoop) => boolean,
): readonly SpeculatedLoop[] {
  const done: SpeculatedLoop[] = [];
  const refused: SpeculatedLoop[] = [];
  for (const one of tried) {
    if (done.some(({ node }) => isInside(node, one.node))) continue;
    (attempt(one) ? done : refused).push(one);
  }
  return refused.filter(({ node }) => {
    const around = refused.find((other) => other.node !== node && isInside(other.node, node));
    return !around || done.some((other) => isInside(around.node, other.node));
  });
}

const isInside = (outer: Span, inner: Span) => outer.start <= inner.start && inner.end <= outer.end;

const hostTexts = ({ guards, first, step, count, inputs }: HostExpressions): readonly string[] => [
  ...guards,
  first,
  step,
  count,
  ...Object.values(inputs),
];

/** Returns a declaration of the program that hides a JavaScript global in generated code. */
function hiddenGlobal(texts: readonly string[], scope: Scope): Binding | undefined {
  const globals = texts.flatMap((text) =>
    [...text.matchAll(/(?<![\w$.])(?:Math|Number|Object|NaN|Infinity|\w*Array)(?![\w$])/gu)].map(
      ([name]) => name,
    ),
  );
  return globals.map((name) => lookUp(scope, name)).find((binding) => binding && binding.kind !== "type");
}

/** The variables that a loop uses and changes, and the function around the loop. */
interface Used {
  readonly used: readonly Binding[];
  readonly changed: readonly Binding[];
  readonly container: Node;
}

/**
 * Returns the variables that loops change, and that loops outside of the declaring function use.
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

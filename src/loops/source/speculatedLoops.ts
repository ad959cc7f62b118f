import type { CallExpression, ForStatement, Node } from "oxc-parser";
import type { Diagnostic, Span } from "../../diagnostics/diagnostic.ts";
import { loopError } from "../../diagnostics/loops.ts";
import {
  type BranchDirective,
  callNames,
  type LoopDirective,
  parseCalls,
  parseComment,
} from "../directives.ts";
import type { ParsedFile } from "./parse.ts";
import { childrenOf, isFunction, lookUp, type Scope, type Scopes } from "./scopes.ts";

/** A loop with its directives, as it stands in the file. */
export interface SpeculatedLoop {
  readonly node: ForStatement;
  readonly label: string | undefined;
  /** From the directive's first call, or the loop or its label, to the end of the loop. */
  readonly span: Span;
  /** Where the loop, or its label, starts. */
  readonly start: number;
  readonly directive: LoopDirective;
  readonly branchDirectives: readonly BranchDirective[];
  /** The scope around the loop. */
  readonly scope: Scope;
  /** The function around the loop; the program when there is none. */
  readonly container: Node;
}

export interface FoundLoops {
  readonly loops: readonly SpeculatedLoop[];
  /** What the file calls the functions it imports from Belay, by those names. */
  readonly directiveNames: ReadonlyMap<string, string>;
  readonly diagnostics: readonly Diagnostic[];
}

/** Where programs import the call form from. */
export const directiveModule = "belay-gpu/speculate";

/** A `for` statement and what is around it. */
interface Place {
  readonly node: ForStatement;
  readonly label: string | undefined;
  /** The loop, or its label. */
  readonly start: number;
  readonly scope: Scope;
  /** Functions and the program around it, innermost first. */
  readonly containers: readonly Node[];
  /** The statements before it in its block, the nearest last. */
  readonly before: readonly Node[];
}

/** Finds the loops that have directives, and the directives that have no loop. */
export function speculatedLoops(file: ParsedFile, scopes: Scopes): FoundLoops {
  const diagnostics: Diagnostic[] = [];
  const places = findFors(file, scopes);
  const directiveNames = importedNames(file);
  const loops: SpeculatedLoop[] = [];
  const branchDirectives: BranchDirective[] = [];

  for (const comment of file.comments) {
    const directive = parseComment(comment, file.source);
    if (!directive) continue;
    if ("code" in directive) diagnostics.push(directive);
    else if (directive.kind === "branch") branchDirectives.push(directive);
    else {
      const place = places.find(({ start }) => start >= comment.end && isBlank(file, comment.end, start));
      if (place) loops.push(loopAt(place, directive, place.start));
      else diagnostics.push(loopError.misplacedLoopDirective(directive.span));
    }
  }
  const called = new Set<Node>();
  for (const place of places) {
    const calls = callsBefore(place, directiveNames);
    if (calls.length === 0) continue;
    for (const { statement } of calls) called.add(statement);
    const directive = parseCalls(calls);
    if ("code" in directive) diagnostics.push(directive);
    else loops.push(loopAt(place, directive, calls[0]!.statement.start));
  }
  diagnostics.push(...strayCalls(file, scopes, directiveNames, called));

  const outermost = loops.filter((loop) => {
    const around = loops.find((other) => other !== loop && contains(other.node, loop.node));
    if (around) diagnostics.push(loopError.nestedDirective(loop.directive.span));
    return !around;
  });
  for (const directive of branchDirectives) {
    if (!outermost.some(({ node }) => contains(node, directive.span))) {
      diagnostics.push(loopError.misplacedBranchDirective(directive.span));
    }
  }
  diagnostics.push(...unmarked(outermost), ...unused(file, outermost, diagnostics.length > 0));
  return {
    loops: outermost.map((loop) => ({
      ...loop,
      branchDirectives: branchDirectives.filter(({ span }) => contains(loop.node, span)),
    })),
    directiveNames,
    diagnostics,
  };
}

const contains = (outer: Span, inner: Span) => outer.start <= inner.start && inner.end <= outer.end;

function loopAt(place: Place, directive: LoopDirective, start: number): SpeculatedLoop {
  const { node, label, scope, containers } = place;
  return {
    node,
    label,
    span: { start, end: node.end },
    start: place.start,
    directive,
    branchDirectives: [],
    scope,
    container: containers[0]!,
  };
}

/** Every `for` of the file, in order. */
function findFors({ program }: ParsedFile, scopes: Scopes): Place[] {
  const places: Place[] = [];
  type Pending = Omit<Place, "node" | "start"> & { readonly node: Node; readonly start: number };
  const pending: Pending[] = [];
  const add = (node: Node, outer: Omit<Pending, "node" | "start" | "label" | "before">) => {
    const block = "body" in node && Array.isArray(node.body) ? (node.body as Node[]) : [];
    const scope = scopes.get(node) ?? outer.scope;
    const containers =
      isFunction(node) || node.type === "Program" ? [node, ...outer.containers] : outer.containers;
    for (const child of childrenOf(node)) {
      const before = block.slice(
        Math.max(0, block.indexOf(child) - callNames.length * 4),
        Math.max(0, block.indexOf(child)),
      );
      pending.push({ node: child, start: child.start, scope, containers, label: undefined, before });
    }
  };
  const root = scopes.get(program)!;
  add(program, { scope: root, containers: [] });
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { node } = next;
    if (node.type === "LabeledStatement") {
      pending.push({ ...next, node: node.body, label: node.label.name });
      continue;
    }
    if (node.type === "ForStatement") places.push({ ...next, node });
    add(node, next);
  }
  return places.sort((one, other) => one.start - other.start);
}

/** Whether there is nothing but comments between two places. */
function isBlank({ source, comments }: ParsedFile, start: number, end: number): boolean {
  let at = start;
  for (const comment of comments) {
    if (comment.start < start || comment.end > end) continue;
    if (source.slice(at, comment.start).trim() !== "") return false;
    at = comment.end;
  }
  return source.slice(at, end).trim() === "";
}

/** What the file imports from Belay: the names there, by the names here. */
function importedNames({ program }: ParsedFile): Map<string, string> {
  const names = new Map<string, string>();
  for (const node of program.body) {
    if (node.type !== "ImportDeclaration" || node.source.value !== directiveModule) continue;
    for (const specifier of node.specifiers) {
      if (specifier.type !== "ImportSpecifier" || specifier.imported.type !== "Identifier") continue;
      names.set(specifier.local.name, specifier.imported.name);
    }
  }
  return names;
}

/** The directive that a statement is as a call. */
function directiveCall(statement: Node, scope: Scope, names: ReadonlyMap<string, string>) {
  if (statement.type !== "ExpressionStatement" || statement.expression.type !== "CallExpression")
    return undefined;
  const call: CallExpression = statement.expression;
  if (call.callee.type !== "Identifier") return undefined;
  const name = names.get(call.callee.name);
  if (!name || lookUp(scope, call.callee.name)?.kind !== "import") return undefined;
  return callNames.includes(name) ? { name, call, statement } : undefined;
}

/** The calls of directives directly before a loop. */
function callsBefore({ before, scope }: Place, names: ReadonlyMap<string, string>) {
  const calls: NonNullable<ReturnType<typeof directiveCall>>[] = [];
  for (const statement of [...before].reverse()) {
    const call = directiveCall(statement, scope, names);
    if (!call) break;
    calls.unshift(call);
  }
  return calls;
}

/** Calls of directives that are not before a loop. */
function strayCalls(
  { program }: ParsedFile,
  scopes: Scopes,
  names: ReadonlyMap<string, string>,
  used: ReadonlySet<Node>,
): Diagnostic[] {
  if (names.size === 0) return [];
  const stray: Diagnostic[] = [];
  const pending: [Node, Scope][] = [[program, scopes.get(program)!]];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const [node, outer] = next;
    const scope = scopes.get(node) ?? outer;
    if (directiveCall(node, scope, names) && !used.has(node)) {
      stray.push(loopError.misplacedLoopDirective({ start: node.start, end: node.end }));
    }
    for (const child of childrenOf(node)) pending.push([child, scope]);
  }
  return stray;
}

/** Loops outside all functions that ask for speculation. */
function unmarked(loops: readonly SpeculatedLoop[]): Diagnostic[] {
  const marked = (scope: Scope | undefined): boolean =>
    scope !== undefined && (hasUseSpeculate(scope.node) || marked(scope.parent));
  return loops
    .filter(({ scope }) => !marked(scope))
    .map(({ directive }) => loopError.useSpeculateMissing(directive.span));
}

/** Functions that ask for speculation and have no loop for it. */
function unused({ program }: ParsedFile, loops: readonly SpeculatedLoop[], hasErrors: boolean): Diagnostic[] {
  if (hasErrors) return [];
  const found: Diagnostic[] = [];
  const pending: Node[] = [program];
  for (let node = pending.pop(); node; node = pending.pop()) {
    const container = node;
    const directive = useSpeculateOf(container);
    if (directive && !loops.some((loop) => contains(container, loop.node))) {
      found.push(loopError.pragmaMissing({ start: directive.start, end: directive.end }));
    }
    pending.push(...childrenOf(node));
  }
  return found;
}

const hasUseSpeculate = (node: Node) => useSpeculateOf(node) !== undefined;

/** The directive "use speculate" at the start of a function or the program. */
function useSpeculateOf(node: Node): Node | undefined {
  const body = "body" in node ? node.body : undefined;
  const statements = Array.isArray(body) ? body : ((body as { body?: unknown } | null)?.body ?? []);
  if (!(isFunction(node) || node.type === "Program") || !Array.isArray(statements)) return undefined;
  return (statements as Node[]).find(
    (statement) => statement.type === "ExpressionStatement" && statement.directive === "use speculate",
  );
}

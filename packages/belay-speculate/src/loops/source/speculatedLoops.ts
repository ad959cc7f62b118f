import type { Diagnostic, Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { CallExpression, ForStatement, Node } from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import { callNames, directiveModule, parseCalls } from "../directives/calls.ts";
import { parseComment } from "../directives/comments.ts";
import { type BranchDirective, type LoopDirective, noClauses } from "../directives/directive.ts";
import { type ElementsLoop, type ForLoop, forLoops, nameOf } from "./forLoops.ts";
import type { ParsedFile } from "./parse.ts";
import { everyNode, lookUp, type Scope, type Scopes } from "./scopes.ts";
import { functionsToTry, loopsWithoutMark } from "./useSpeculate.ts";

/** A loop of a file with its directives. */
export interface SpeculatedLoop {
  /** The name of the function around the loop, with a number if the function has several loops. */
  readonly name: string;
  readonly node: ForStatement;
  /** The loop over an array, if the loop is written so. */
  readonly elements: ElementsLoop | undefined;
  readonly label: string | undefined;
  /**
   * The span from the directive's first call, or from the loop or its label, to the end of the
   * loop.
   */
  readonly span: Span;
  /** The start of the loop, or of its label. */
  readonly start: number;
  readonly directive: LoopDirective;
  readonly branchDirectives: readonly BranchDirective[];
  /** The scope around the loop. */
  readonly scope: Scope;
  /** The function around the loop; the program if there is none. */
  readonly container: Node;
  /** True if the loop has no directive, and its function asks to try all of its loops. */
  readonly isTried: boolean;
}

export interface FoundLoops {
  /** The loops with directives. None stands inside another one. */
  readonly loops: readonly SpeculatedLoop[];
  /** The loops to try, in order. They may stand inside each other. */
  readonly tried: readonly SpeculatedLoop[];
  /** The functions that the file imports from Belay, by their names in the file. */
  readonly directiveNames: ReadonlyMap<string, string>;
  readonly diagnostics: readonly Diagnostic[];
  /** Loops with a wrong directive, which stay unchanged. */
  readonly malformed: readonly UndirectedLoop[];
}

/** A loop of a file without the contents of its directive. */
export type UndirectedLoop = Pick<SpeculatedLoop, "node" | "span" | "start" | "scope" | "container">;

/**
 * Finds the loops that have directives, the directives that have no loop, and the loops of
 * functions that ask to try all loops.
 */
export function speculatedLoops(file: ParsedFile, scopes: Scopes): FoundLoops {
  const diagnostics: Diagnostic[] = [];
  const places = forLoops(file, scopes);
  const directiveNames = importedNames(file);
  const loops: Omit<SpeculatedLoop, "name">[] = [];
  const branchDirectives: BranchDirective[] = [];
  const malformed: UndirectedLoop[] = [];

  for (const comment of file.comments) {
    const directive = parseComment(comment, file.source);
    if (!directive) continue;
    const place = places.find(({ start }) => start >= comment.end && isBlank(file, comment.end, start));
    if ("code" in directive) {
      diagnostics.push(directive);
      if (place) malformed.push(undirected(place, place.start));
    } else if (directive.kind === "branch") branchDirectives.push(directive);
    else {
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
    const { start } = calls[0]!.statement;
    if ("code" in directive) {
      diagnostics.push(directive);
      malformed.push(undirected(place, start));
    } else loops.push(loopAt(place, directive, start));
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
  // A wrong directive has a diagnostic of its own.
  const functions = diagnostics.length === 0 ? functionsToTry(file, scopes, outermost, places) : [];
  for (const { mark, places } of functions)
    if (places.length === 0) diagnostics.push(loopError.nothingToTry({ start: mark.start, end: mark.end }));
  const tried = functions.flatMap(({ places }) => places.map((place) => triedAt(place)));
  diagnostics.push(...loopsWithoutMark(outermost));
  outermost.sort((one, other) => one.start - other.start);
  return {
    loops: outermost.map((loop, at) => ({
      ...loop,
      name: numbered(outermost, at, scopes),
      branchDirectives: branchDirectives.filter(({ span }) => contains(loop.node, span)),
    })),
    tried: tried.map((loop, at) => ({ ...loop, name: numbered(tried, at, scopes) })),
    directiveNames,
    diagnostics,
    malformed: malformed.filter(
      (loop) =>
        ![...outermost, ...malformed].some(({ node }) => node !== loop.node && contains(node, loop.node)),
    ),
  };
}

function numbered(loops: readonly { readonly container: Node }[], at: number, scopes: Scopes): string {
  const { container } = loops[at]!;
  const name = nameOf(container, scopes) ?? "loop";
  const number = loops.slice(0, at).filter((loop) => loop.container === container).length + 1;
  return number === 1 ? name : `${name}$${number}`;
}

const contains = (outer: Span, inner: Span) => outer.start <= inner.start && inner.end <= outer.end;

function loopAt(place: ForLoop, directive: LoopDirective, start: number): Omit<SpeculatedLoop, "name"> {
  const { label, elements } = place;
  return {
    ...undirected(place, start),
    label,
    elements,
    directive,
    branchDirectives: [],
    isTried: false,
  };
}

/** Returns a loop to try, as if it had a directive without clauses. */
function triedAt(place: ForLoop): Omit<SpeculatedLoop, "name"> {
  const { start, end } = place.node;
  const span = { start, end: Math.min(end, place.node.body.start) };
  return { ...loopAt(place, { ...noClauses, span }, place.start), isTried: true };
}

function undirected(place: ForLoop, start: number): UndirectedLoop {
  const { node, scope, container } = place;
  return { node, span: { start, end: node.end }, start: place.start, scope, container };
}

/** Returns true if there are only comments and blanks between two places. */
function isBlank({ source, comments }: ParsedFile, start: number, end: number): boolean {
  let at = start;
  for (const comment of comments) {
    if (comment.start < start || comment.end > end) continue;
    if (source.slice(at, comment.start).trim() !== "") return false;
    at = comment.end;
  }
  return source.slice(at, end).trim() === "";
}

/** Returns the names that the file imports from Belay, by their names in the file. */
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

/** Returns the directive call that a statement consists of; undefined for other statements. */
function directiveCall(statement: Node, scope: Scope, names: ReadonlyMap<string, string>) {
  if (statement.type !== "ExpressionStatement" || statement.expression.type !== "CallExpression")
    return undefined;
  const call: CallExpression = statement.expression;
  if (call.callee.type !== "Identifier") return undefined;
  const name = names.get(call.callee.name);
  if (!name || lookUp(scope, call.callee.name)?.kind !== "import") return undefined;
  return callNames.includes(name) ? { name, call, statement } : undefined;
}

/** Returns the directive calls directly before a loop. */
function callsBefore({ siblings, start, scope }: ForLoop, names: ReadonlyMap<string, string>) {
  const calls: NonNullable<ReturnType<typeof directiveCall>>[] = [];
  let at = names.size > 0 ? siblings.findIndex((sibling) => sibling.start === start) : 0;
  for (; at > 0; at--) {
    const call = directiveCall(siblings[at - 1]!, scope, names);
    if (!call) break;
    calls.unshift(call);
  }
  return calls;
}

/** Reports directive calls that are not before a loop. */
function strayCalls(
  { program }: ParsedFile,
  scopes: Scopes,
  names: ReadonlyMap<string, string>,
  used: ReadonlySet<Node>,
): Diagnostic[] {
  if (names.size === 0) return [];
  return [...everyNode(program, scopes)]
    .filter(([node, scope]) => !used.has(node) && directiveCall(node, scope, names))
    .map(([{ start, end }]) => loopError.misplacedLoopDirective({ start, end }));
}

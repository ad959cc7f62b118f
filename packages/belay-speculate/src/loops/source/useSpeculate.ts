import type { Diagnostic, Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { Node } from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import type { ParsedFile } from "./parse.ts";
import { everyNode, isFunction, type Scope, type Scopes } from "./scopes.ts";

/** A loop with a directive. */
interface Marked {
  readonly node: Span;
  readonly scope: Scope;
  readonly directive: { readonly span: Span };
}

/** Reports loops with a directive outside all functions that have "use speculate". */
export function loopsWithoutMark(loops: readonly Marked[]): Diagnostic[] {
  const marked = (scope: Scope | undefined): boolean =>
    scope !== undefined && (hasUseSpeculate(scope.node) || marked(scope.parent));
  return loops
    .filter(({ scope }) => !marked(scope))
    .map(({ directive }) => loopError.useSpeculateMissing(directive.span));
}

/**
 * Returns the functions with "use speculate" in which no loop has a directive, each with its loops.
 * A loop belongs to the innermost such function around it.
 */
export function functionsToTry<Place extends { readonly node: Span; readonly scope: Scope }>(
  { program }: ParsedFile,
  scopes: Scopes,
  loops: readonly Marked[],
  places: readonly Place[],
): readonly { readonly mark: Node; readonly places: readonly Place[] }[] {
  const closest = (scope: Scope | undefined): Node | undefined =>
    scope && (hasUseSpeculate(scope.node) ? scope.node : closest(scope.parent));
  return [...everyNode(program, scopes)].flatMap(([container]) => {
    const mark = useSpeculateOf(container);
    const isUsed = loops.some(({ node }) => container.start <= node.start && node.end <= container.end);
    if (!mark || isUsed) return [];
    return [{ mark, places: places.filter(({ scope }) => closest(scope) === container) }];
  });
}

const hasUseSpeculate = (node: Node) => useSpeculateOf(node) !== undefined;

/** Returns the directive "use speculate" at the start of a function or the program. */
function useSpeculateOf(node: Node): Node | undefined {
  const body = "body" in node ? node.body : undefined;
  const statements = Array.isArray(body) ? body : ((body as { body?: unknown } | null)?.body ?? []);
  if (!(isFunction(node) || node.type === "Program") || !Array.isArray(statements)) return undefined;
  return (statements as Node[]).find(
    (statement) => statement.type === "ExpressionStatement" && statement.directive === "use speculate",
  );
}

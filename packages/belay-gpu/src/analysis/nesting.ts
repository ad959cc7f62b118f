/**
 * Counts how deep statements of a function nest, as WGSL compilers do: each statement is a level
 * below the one that holds it, blocks and the clauses of a `switch` included. Source: WGSL
 * specification, "Limits", and Dawn, which counts the levels that its parser goes down for
 * expressions, too.
 */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { FunctionDeclaration } from "../wgsl/ast.ts";
import { type AnyNode, forEachChild, isExpression } from "../wgsl/traverse.ts";

const mostLevels = 127;

/**
 * Returns the place of a function at which its statements, or the brackets around it, nest deeper
 * than compilers take.
 */
export function tooDeepIn(fn: FunctionDeclaration): Span | undefined {
  let found: Span | undefined;
  /**
   * `levels`: of statements; `brackets`: of whatever stands around the node in braces, parentheses
   * or brackets.
   */
  const visit = (node: AnyNode, levels: number, brackets: number, around: Span): void => {
    if (found) return;
    // What protection adds has no place in the source.
    const span = node.span.end > node.span.start ? node.span : around;
    const isStatement = !isExpression(node);
    const below = levels + (isStatement ? 1 : 0);
    const inside = brackets + (isStatement ? Number(hasBraces(node)) : Number(hasBrackets(node)));
    if (below > mostLevels || inside > mostLevels) {
      found = span;
      return;
    }
    // A continuing block is a statement of the body.
    forEachChild(node, (child) => {
      const isContinuing = node.kind === "loop" && child === node.continuing;
      visit(child, below + Number(isContinuing), inside + Number(isContinuing), span);
    });
  };
  visit(fn.body, 0, 0, fn.nameSpan);
  return found;
}

const hasBraces = ({ kind }: AnyNode): boolean => kind === "block" || kind === "switch";

/** Returns whether operands stand in brackets, or may: a parser goes down a level for each. */
const hasBrackets = ({ kind }: AnyNode): boolean => kind === "call" || kind === "index" || kind === "unary";

/**
 * Counts the nesting of a function's statements as WGSL compilers do. Each statement is one level
 * below the statement that contains it, including blocks and the clauses of a `switch`. Source:
 * WGSL specification, "Limits". Dawn also counts the levels of its parser for expressions.
 */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { FunctionDeclaration } from "../wgsl/ast.ts";
import { type AnyNode, forEachChild, isExpression } from "../wgsl/traverse.ts";

/** The deepest nesting that compilers accept. */
const mostLevels = 127;

/**
 * Returns the first place in a function where its statements, braces or brackets nest deeper than
 * compilers accept, or undefined.
 */
export function tooDeepIn(fn: FunctionDeclaration): Span | undefined {
  let found: Span | undefined;
  /**
   * Visits a node. `levels` counts statements around it, `brackets` the braces, parentheses and
   * brackets around it.
   */
  const visit = (node: AnyNode, levels: number, brackets: number, around: Span): void => {
    if (found) return;
    // Nodes that protection adds have an empty span.
    const span = node.span.end > node.span.start ? node.span : around;
    const isStatement = !isExpression(node);
    const below = levels + (isStatement ? 1 : 0);
    const inside = brackets + (isStatement ? Number(hasBraces(node)) : Number(hasBrackets(node)));
    if (below > mostLevels || inside > mostLevels) {
      found = span;
      return;
    }
    // A `continuing` block counts as a statement of the body.
    forEachChild(node, (child) => {
      const isContinuing = node.kind === "loop" && child === node.continuing;
      visit(child, below + Number(isContinuing), inside + Number(isContinuing), span);
    });
  };
  visit(fn.body, 0, 0, fn.nameSpan);
  return found;
}

const hasBraces = ({ kind }: AnyNode): boolean => kind === "block" || kind === "switch";

/**
 * Returns true if the operands of a node are in brackets, or may be. A parser recurses for each.
 */
const hasBrackets = ({ kind }: AnyNode): boolean => kind === "call" || kind === "index" || kind === "unary";

/**
 * Builds pieces of the tree from tagged templates of WGSL, so that a transform shows the code that
 * it generates.
 *
 * A hole takes text (a name, a number, any piece of source) or nodes where their kind can stand.
 * Nodes are an expression, a type, statements, declarations, or several expressions between commas.
 * Inserted nodes keep their spans; all others get the requested span.
 */
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import type { Declaration, Expression, Statement } from "./ast.ts";
import { parseDeclarations, parseExpression, parseStatements } from "./parser.ts";
import { type AnyNode, isExpression, mapChildren } from "./traverse.ts";

type NodeHole = Expression | Statement | Declaration | readonly (Expression | Statement | Declaration)[];
/** A value for a hole: a name or a number, or nodes at a place where their kind can stand. */
export type Hole = string | number | NodeHole;

type Template<T> = (strings: TemplateStringsArray, ...holes: readonly Hole[]) => T;

/** Templates of WGSL that become pieces of a tree. They throw if the text does not parse. */
export interface Quote {
  readonly expression: Template<Expression>;
  readonly statements: Template<Statement[]>;
  readonly declarations: Template<Declaration[]>;
}

/** Returns the three templates, for code that stands for the source at `span`. */
export function quote(span: Span = { start: 0, end: 0 }): Quote {
  return {
    expression(strings, ...holes) {
      const { text, nodes } = assemble(strings, holes);
      const { expression, diagnostics } = parseExpression(text);
      expectNone(diagnostics, text);
      return fill([expression!], nodes, span)[0] as Expression;
    },
    statements(strings, ...holes) {
      const { text, nodes } = assemble(strings, holes);
      const { statements, diagnostics } = parseStatements(text);
      expectNone(diagnostics, text);
      return fill(statements, nodes, span) as Statement[];
    },
    declarations(strings, ...holes) {
      const { text, nodes } = assemble(strings, holes);
      const { declarations, diagnostics } = parseDeclarations(text);
      expectNone(diagnostics, text);
      return fill(declarations, nodes, span) as Declaration[];
    },
  };
}

/** The templates for code that stands for nothing in the user's source. */
export const { expression, statements, declarations } = quote();

/** The nodes to insert, by the `keyOf` of their placeholder. */
type Nodes = ReadonlyMap<string, NodeHole>;

/**
 * Returns the template's text with a placeholder for each hole that takes nodes. No text contains
 * the placeholders' names.
 */
function assemble(strings: TemplateStringsArray, holes: readonly Hole[]): { text: string; nodes: Nodes } {
  const nodes = new Map<string, NodeHole>();
  const isText = (hole: Hole) => typeof hole === "string" || typeof hole === "number";
  const texts = [...strings, ...holes.filter(isText).map(String)];
  let stem = "hole";
  while (texts.some((text) => text.includes(stem))) stem += "_";
  let text = strings[0]!;
  holes.forEach((hole, i) => {
    if (isText(hole)) {
      text += hole;
    } else {
      const name = `${stem}${i}`;
      const kind = placeholderKind(hole, text);
      nodes.set(`${kind} ${name}`, hole);
      text += { constAssert: `const_assert ${name};`, call: `${name}()`, identifier: name }[kind];
    }
    text += strings[i + 1]!;
  });
  return { text, nodes };
}

/**
 * Returns the kind of placeholder that can stand where the nodes of `hole` can stand. For no nodes,
 * the text `before` decides.
 */
function placeholderKind(hole: NodeHole, before: string): "constAssert" | "call" | "identifier" {
  const [first] = [hole].flat() as readonly AnyNode[];
  const isLine = first === undefined ? /(^|[{};])\s*$/.test(before) : !isExpression(first);
  if (isLine) return "constAssert";
  return first?.kind === "call" ? "call" : "identifier";
}

/** Returns a placeholder's kind and name. Other nodes have keys that no hole has. */
function keyOf(node: AnyNode): string {
  const named = node.kind === "constAssert" ? node.condition : node.kind === "call" ? node.callee : node;
  return named.kind === "identifier" ? `${node.kind} ${named.name}` : node.kind;
}

/** Replaces the placeholders by their nodes, and gives all other nodes their span. */
function fill(parsed: readonly AnyNode[], nodes: Nodes, span: Span): AnyNode[] {
  const unused = new Set(nodes.keys());
  const fillNode = (node: AnyNode): AnyNode | readonly AnyNode[] => {
    const key = keyOf(node);
    const hole = nodes.get(key);
    if (hole !== undefined) {
      unused.delete(key);
      return hole;
    }
    const filled = mapChildren(node, fillNode);
    return "nameSpan" in filled ? { ...filled, span, nameSpan: span } : { ...filled, span };
  };
  const filled = parsed.flatMap(fillNode);
  if (unused.size > 0) throw new Error("nodes inserted into a WGSL template where only text can stand");
  return filled;
}

function expectNone(diagnostics: readonly Diagnostic[], text: string): void {
  const [first] = diagnostics;
  if (first !== undefined)
    throw new Error(`WGSL template: ${first.message} at ${first.span.start} of: ${text}`);
}

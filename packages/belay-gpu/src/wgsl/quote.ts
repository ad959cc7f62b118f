/**
 * WGSL written in place as tagged templates, so that a transform shows the code it generates.
 *
 * A hole takes text (a name, a number, any piece of source) or nodes: an expression or a type where
 * one can stand, statements or declarations where a statement or declaration can stand, several
 * expressions between commas. Inserted nodes keep their spans; all others get the span that was
 * asked for.
 */
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import type { Declaration, Expression, Statement } from "./ast.ts";
import { parseDeclarations, parseExpression, parseStatements } from "./parser.ts";
import { type AnyNode, isExpression, mapChildren } from "./traverse.ts";

type NodeHole = Expression | Statement | Declaration | readonly (Expression | Statement | Declaration)[];
/**
 * What may stand in a template: a name or a number, or pieces of a tree where their kind may stand.
 */
export type Hole = string | number | NodeHole;

type Template<T> = (strings: TemplateStringsArray, ...holes: readonly Hole[]) => T;

/** Templates of WGSL that become pieces of a tree. What does not parse throws. */
export interface Quote {
  readonly expression: Template<Expression>;
  readonly statements: Template<Statement[]>;
  readonly declarations: Template<Declaration[]>;
}

/** The three templates, for code that stands for what is at `span` in the user's source. */
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

/** What goes to the place of a placeholder, by the placeholder's `keyOf`. */
type Nodes = ReadonlyMap<string, NodeHole>;

/**
 * The template's text, with a placeholder, of a name that no text has, for each hole that takes
 * nodes.
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
 * The kind of node that can be parsed where the nodes of `hole` can stand; `before` decides for no
 * nodes.
 */
function placeholderKind(hole: NodeHole, before: string): "constAssert" | "call" | "identifier" {
  const [first] = [hole].flat() as readonly AnyNode[];
  const isLine = first === undefined ? /(^|[{};])\s*$/.test(before) : !isExpression(first);
  if (isLine) return "constAssert";
  return first?.kind === "call" ? "call" : "identifier";
}

/** A placeholder's kind and name; other nodes have keys that no hole has. */
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

/** Traverses the syntax tree. One table of child fields serves every walk and every rewrite. */
import type {
  Attribute,
  Block,
  Declaration,
  Directive,
  Expression,
  IfStatement,
  Module,
  Parameter,
  Statement,
  StructMember,
  SwitchClause,
} from "./ast.ts";

/** Any node of a tree. */
export type AnyNode =
  | Module
  | Directive
  | Declaration
  | Attribute
  | StructMember
  | Parameter
  | Statement
  | SwitchClause
  | Expression;

type NodeOfKind<K extends AnyNode["kind"]> = Extract<AnyNode, { readonly kind: K }>;

/** The fields that hold child nodes, in source order. */
const childFields: { readonly [K in AnyNode["kind"]]: readonly (keyof NodeOfKind<K>)[] } = {
  module: ["directives", "declarations"],
  enable: [],
  requires: [],
  diagnostic: [],
  attribute: ["args"],
  globalVariable: ["attributes", "qualifiers", "type", "initializer"],
  override: ["attributes", "type", "initializer"],
  const: ["type", "initializer"],
  alias: ["type"],
  member: ["attributes", "type"],
  struct: ["members"],
  parameter: ["attributes", "type"],
  function: ["attributes", "parameters", "returnAttributes", "returnType", "body"],
  constAssert: ["condition"],
  block: ["attributes", "statements"],
  let: ["type", "initializer"],
  var: ["qualifiers", "type", "initializer"],
  assign: ["target", "value"],
  increment: ["target"],
  callStatement: ["call"],
  if: ["attributes", "condition", "then", "otherwise"],
  clause: ["selectors", "body"],
  switch: ["attributes", "selector", "bodyAttributes", "clauses"],
  loop: ["attributes", "body", "continuing", "breakIf"],
  for: ["attributes", "initializer", "condition", "update", "body"],
  while: ["attributes", "condition", "body"],
  break: [],
  continue: [],
  discard: [],
  return: ["value"],
  literal: [],
  identifier: ["templateArgs"],
  unary: ["operand"],
  binary: ["left", "right"],
  call: ["callee", "args"],
  index: ["base", "index"],
  memberAccess: ["base"],
};

/**
 * A field's content: one child, none, or several. The `default` among case selectors is not a node.
 */
type Field = AnyNode | null | readonly (AnyNode | "default")[];

function fieldOf(node: AnyNode, name: string): Field {
  return (node as unknown as Readonly<Record<string, Field>>)[name]!;
}

/** Calls `visit` for the direct children of a node in source order. */
export function forEachChild(node: AnyNode, visit: (child: AnyNode) => void): void {
  for (const name of childFields[node.kind]) {
    const field = fieldOf(node, name);
    if (field === null) continue;
    if (!isList(field)) visit(field);
    else for (const child of field) if (child !== "default") visit(child);
  }
}

/** Returns the direct children of a node in source order. */
export function children(node: AnyNode): AnyNode[] {
  const found: AnyNode[] = [];
  forEachChild(node, (child) => found.push(child));
  return found;
}

/**
 * Calls `visit` for `node` and all nodes below it, parents first. If `visit` returns `false`, the
 * nodes below are skipped.
 */
export function walk(node: AnyNode, visit: (node: AnyNode) => unknown): void {
  if (visit(node) !== false) forEachChild(node, (child) => walk(child, visit));
}

/** Returns true if something holds for `node` or for a node below it. */
export function contains(node: AnyNode, holds: (node: AnyNode) => boolean): boolean {
  let found = false;
  walk(node, (each) => {
    found ||= holds(each);
    return !found;
  });
  return found;
}

const expressionKinds: ReadonlySet<string> = new Set<Expression["kind"]>([
  "literal",
  "identifier",
  "unary",
  "binary",
  "call",
  "index",
  "memberAccess",
]);

/** Returns true for an expression. Types are expressions, too. */
export function isExpression(node: AnyNode): node is Expression {
  return expressionKinds.has(node.kind);
}

/**
 * Returns `node` with each direct child replaced by the result of `replace`. Several nodes may
 * replace an element of a list. Returns `node` itself if nothing changed. `replace` must return
 * nodes that the grammar allows at the child's place.
 */
export function mapChildren<T extends AnyNode>(
  node: T,
  replace: (child: AnyNode) => AnyNode | readonly AnyNode[],
): T {
  let changes: Record<string, Field> | undefined;
  for (const name of childFields[node.kind]) {
    const field = fieldOf(node, name);
    if (field === null) continue;
    const replaced = isList(field) ? mapList(field, replace) : single(replace(field));
    if (replaced !== field) changes = { ...changes, [name]: replaced };
  }
  return changes ? { ...node, ...changes } : node;
}

/** Returns the list with its elements replaced, or the list itself if nothing changed. */
function mapList(
  list: readonly (AnyNode | "default")[],
  replace: (child: AnyNode) => AnyNode | readonly AnyNode[],
): readonly (AnyNode | "default")[] {
  const replaced = list.flatMap((child) => (child === "default" ? child : replace(child)));
  return replaced.length === list.length && replaced.every((child, i) => child === list[i]) ? list : replaced;
}

function isList(field: Field): field is readonly (AnyNode | "default")[] {
  return Array.isArray(field);
}

function single(replacement: AnyNode | readonly AnyNode[]): AnyNode {
  if (!Array.isArray(replacement)) return replacement as AnyNode;
  throw new Error("several nodes cannot stand where the grammar has one");
}

/**
 * Rewrites an expression from the leaves up, including types and callees. Unchanged parts are
 * shared.
 */
export function mapExpression(
  expression: Expression,
  rewrite: (expression: Expression) => Expression,
): Expression {
  return rewrite(mapChildren(expression, (child) => mapExpression(child as Expression, rewrite)));
}

/**
 * Rewrites every expression inside a node that is no expression, including those in nested
 * statements, types and attributes.
 */
export function mapExpressions<T extends Exclude<AnyNode, Expression>>(
  node: T,
  rewrite: (expression: Expression) => Expression,
): T {
  return mapChildren<Exclude<AnyNode, Expression>>(node, (child) =>
    isExpression(child) ? mapExpression(child, rewrite) : mapExpressions(child, rewrite),
  ) as T;
}

/**
 * Rewrites every statement in the statement list of `block` or of a block below it, innermost
 * first. Any number of statements may replace one. The `if` of an `else if` counts as a statement
 * and gets a block if it becomes anything else. The header of a `for` loop does not count.
 */
export function mapStatements(
  block: Block,
  rewrite: (statement: Statement) => Statement | readonly Statement[],
): Block {
  const mapNested = <T extends AnyNode>(node: T): T =>
    mapChildren<AnyNode>(node, (child) => {
      if (isExpression(child)) return child;
      if (child.kind === "if" && node.kind === "if") return elseBranch(child, rewrite(mapNested(child)));
      const mapped = mapNested(child);
      return node.kind === "block" && child.kind !== "attribute" ? rewrite(mapped as Statement) : mapped;
    }) as T;
  return mapNested(block);
}

function elseBranch(
  original: IfStatement,
  replacement: Statement | readonly Statement[],
): IfStatement | Block {
  const statements = [replacement].flat() as Statement[];
  const [only] = statements;
  if (statements.length === 1 && (only?.kind === "if" || only?.kind === "block")) return only;
  return { kind: "block", span: original.span, attributes: [], statements };
}

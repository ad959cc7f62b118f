import type {
  BinaryExpression,
  ForOfStatement,
  ForStatement,
  IdentifierName,
  IdentifierReference,
  NumericLiteral as Literal,
  MemberExpression,
  Node,
  UpdateExpression,
  VariableDeclaration,
  VariableDeclarator,
  WhileStatement,
} from "oxc-parser";
import type { ParsedFile } from "./parse.ts";
import { childrenOf, isFunction, type Scope, type Scopes } from "./scopes.ts";

/** A loop as a `for` statement, and its surroundings. */
export interface ForLoop {
  /** The loop itself, or a `for` that does the same. */
  readonly node: ForStatement;
  /** The loop over a typed array, if the loop is written so. */
  readonly elements: ForOfStatement | undefined;
  readonly label: string | undefined;
  /** The start of the loop, or of its label. */
  readonly start: number;
  readonly scope: Scope;
  /** The function around the loop; the program if there is none. */
  readonly container: Node;
  /** The statements of the block around the loop. */
  readonly siblings: readonly Node[];
}

/** Returns every loop of the file that may count, in order. */
export function forLoops({ program }: ParsedFile, scopes: Scopes): ForLoop[] {
  const loops: ForLoop[] = [];
  type Place = Omit<ForLoop, "node" | "elements"> & { readonly node: Node };
  const root = scopes.get(program)!;
  const pending: Place[] = [
    { node: program, label: undefined, start: 0, scope: root, container: program, siblings: [] },
  ];
  for (let place = pending.pop(); place; place = pending.pop()) {
    const { node } = place;
    if (node.type === "LabeledStatement") {
      pending.push({ ...place, node: node.body, label: node.label.name });
      continue;
    }
    const loop = asFor(node, place.label, scopes);
    if (loop) {
      const elements = node.type === "ForOfStatement" ? node : undefined;
      loops.push({ ...place, node: loop, elements });
    }
    const siblings = "body" in node && Array.isArray(node.body) ? (node.body as Node[]) : [];
    const scope = scopes.get(node) ?? place.scope;
    const container = isFunction(node) ? node : place.container;
    for (const child of childrenOf(node)) {
      pending.push({ node: child, label: undefined, start: child.start, scope, container, siblings });
    }
  }
  return loops.sort((one, other) => one.start - other.start);
}

/** Returns a loop as a `for` that does the same; undefined for other nodes and loops. */
function asFor(node: Node, label: string | undefined, scopes: Scopes): ForStatement | undefined {
  switch (node.type) {
    case "ForStatement":
      return node;
    case "WhileStatement":
      return ofWhile(node, label, scopes);
    case "ForOfStatement":
      return node.await ? undefined : ofElements(node, scopes);
    default:
      return undefined;
  }
}

/** Returns `while (test) { …; update }` as a `for`, if no `continue` leaves the update out. */
function ofWhile(
  { test, body, start, end }: WhileStatement,
  label: string | undefined,
  scopes: Scopes,
): ForStatement | undefined {
  if (body.type !== "BlockStatement") return undefined;
  const last = body.body.at(-1);
  if (last?.type !== "ExpressionStatement" || continues(body, label, true)) return undefined;
  const rest = { ...body, body: body.body.slice(0, -1), end: last.start };
  scopes.set(rest, scopes.get(body)!);
  return { type: "ForStatement", init: null, test, update: last.expression, body: rest, start, end };
}

/** Returns true if a statement continues the loop around it. */
function continues(node: Node, label: string | undefined, isInnermost: boolean): boolean {
  if (node.type === "ContinueStatement") return node.label ? node.label.name === label : isInnermost;
  if (isFunction(node)) return false;
  const isLoop = /^(For|While|DoWhile)/.test(node.type);
  return childrenOf(node).some((child) => continues(child, label, isInnermost && !isLoop));
}

/** Returns `for (const x of a)` as a `for` that counts the elements. */
function ofElements(node: ForOfStatement, scopes: Scopes): ForStatement {
  const { right, body, start, end } = node;
  const at = { start: right.start, end: right.end };
  const place = { type: "Identifier", name: "$place", ...at } as IdentifierReference;
  const zero = { type: "Literal", value: 0, raw: "0", ...at } as Literal;
  const length = { type: "Identifier", name: "length", ...at } as IdentifierName;
  const declarator = {
    type: "VariableDeclarator",
    id: place,
    init: zero,
    ...at,
  } as unknown as VariableDeclarator;
  const update: UpdateExpression = {
    type: "UpdateExpression",
    operator: "++",
    prefix: false,
    argument: place,
    ...at,
  };
  const to: MemberExpression = {
    type: "MemberExpression",
    object: right,
    property: length,
    computed: false,
    optional: false,
    ...at,
  };
  const scope = scopes.get(node)!;
  const binding = {
    name: "$place",
    kind: "let",
    declaration: declarator,
    scope,
    assignments: [update],
  } as const;
  scope.bindings.set("$place", { ...binding, assignments: [update] });
  const init = {
    type: "VariableDeclaration",
    kind: "let",
    declarations: [declarator],
    ...at,
  } as VariableDeclaration;
  const test: BinaryExpression = { type: "BinaryExpression", operator: "<", left: place, right: to, ...at };
  const loop: ForStatement = { type: "ForStatement", init, test, update, body, start, end };
  scopes.set(loop, scope);
  return loop;
}

/** Returns a function's name, from its declaration or from the variable that holds it. */
export function nameOf(container: Node, scopes: Scopes): string | undefined {
  if ("id" in container && container.id && "name" in container.id) return container.id.name;
  for (const [name, { declaration }] of scopes.get(container)?.parent?.bindings ?? []) {
    if (declaration.type === "VariableDeclarator" && declaration.init === container) return name;
  }
  return undefined;
}

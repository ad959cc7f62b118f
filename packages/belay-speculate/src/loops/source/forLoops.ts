import type {
  BinaryExpression,
  BlockStatement,
  Expression,
  ForOfStatement,
  ForStatement,
  IdentifierName,
  IdentifierReference,
  NumericLiteral as Literal,
  MemberExpression,
  Node,
  Statement,
  UpdateExpression,
  VariableDeclaration,
  VariableDeclarator,
  WhileStatement,
} from "oxc-parser";
import { countedLoop } from "./countedLoop.ts";
import type { ParsedFile } from "./parse.ts";
import { childrenOf, isFunction, type Scope, type Scopes } from "./scopes.ts";

/** A loop as a `for` statement, and its surroundings. */
export interface ForLoop {
  /** The loop itself, or a `for` that does the same. */
  readonly node: ForStatement;
  /** The loop over an array, if the loop is written so. */
  readonly elements: ElementsLoop | undefined;
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
      loops.push({ ...place, node: loop, elements: elementsLoop(node) });
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
    case "ForStatement": {
      const counting = node.update ? undefined : ofCountingTest(node);
      const loop = counting ?? withUpdatesInBody(node, label) ?? node;
      scopes.set(loop, scopes.get(node)!);
      return loop;
    }
    case "WhileStatement":
      return ofCountingTest({ ...node, init: null }) ?? ofWhile(node, label, scopes);
    case "ForOfStatement":
    case "ExpressionStatement": {
      const elements = elementsLoop(node);
      return elements && ofElements(elements, node, scopes);
    }
    default:
      return undefined;
  }
}

/**
 * Returns a loop whose test counts as a `for` that does the same; undefined for other loops.
 *
 * Before:  while (++i < n) …               for (let i = n; i--;) …
 * After:   for (++i; i < n; ++i) …         for (let i = n - 1; i !== -1; i--) …
 */
function ofCountingTest({
  init,
  test,
  body,
  start,
  end,
}: Pick<ForStatement, "init" | "test" | "body" | "start" | "end">): ForStatement | undefined {
  if (test?.type === "LogicalExpression" && test.operator === "&&") {
    const first = ofCountingTest({ init, test: test.left, body, start, end });
    return first && { ...first, test: { ...test, left: first.test! } };
  }
  const compares = test?.type === "BinaryExpression";
  const update = compares ? (test.left as Expression) : test;
  if (update?.type !== "UpdateExpression" || update.argument.type !== "Identifier") return undefined;
  const isDown = update.operator === "--";
  // A test of the number itself ends at 0.
  if (!compares && !isDown) return undefined;
  const at = { start: update.start, end: update.end };
  const one: Literal = { type: "Literal", value: 1, raw: "1", ...at } as Literal;
  const moved = (left: Expression): BinaryExpression => ({
    type: "BinaryExpression",
    operator: isDown ? "-" : "+",
    left,
    right: one,
    ...at,
  });
  const bound = compares ? test.right : ({ type: "Literal", value: 0, raw: "0", ...at } as Literal);
  const compared: BinaryExpression = {
    type: "BinaryExpression",
    operator: compares ? test.operator : "!==",
    left: update.argument as Expression,
    right: update.prefix ? bound : moved(bound),
    ...at,
  };
  const first = startingAt(init, update, moved);
  return first ? { type: "ForStatement", init: first, test: compared, update, body, start, end } : undefined;
}

/**
 * Returns a loop whose header changes other variables than its counter as a `for` that changes them
 * at the end of its body; undefined for other loops.
 *
 * Before:  for (let i = 0, odd = false; i < n; i++, odd = !odd) …
 * After:   for (let i = 0, odd = false; i < n; i++) { …; odd = !odd; }
 */
function withUpdatesInBody(node: ForStatement, label: string | undefined): ForStatement | undefined {
  const { body, update } = node;
  if (update?.type !== "SequenceExpression" || countedLoop(node) || continues(body, label, true))
    return undefined;
  for (const kept of update.expressions) {
    const counted = countedLoop({ ...node, update: kept });
    const others = update.expressions.filter((one) => one !== kept);
    if (!counted || others.some((one) => mentions(one, counted.name))) continue;
    const statements = others.map((expression) => ({
      type: "ExpressionStatement",
      expression,
      start: body.end,
      end: body.end,
    }));
    const { start, end } = body;
    const block = { type: "BlockStatement", body: [body, ...statements], start, end } as BlockStatement;
    return { ...node, update: kept, body: block };
  }
  return undefined;
}

const mentions = (node: Node, name: string): boolean =>
  (node.type === "Identifier" && node.name === name) ||
  childrenOf(node).some((child) => mentions(child, name));

/** Returns the start of a loop whose test has counted once before the first iteration. */
function startingAt(
  init: ForStatement["init"],
  update: UpdateExpression,
  moved: (before: Expression) => Expression,
): ForStatement["init"] | undefined {
  const { name } = update.argument as IdentifierReference;
  if (!init) return update;
  if (init.type === "AssignmentExpression" && init.left.type === "Identifier" && init.left.name === name)
    return { ...init, right: moved(init.right) };
  if (init.type !== "VariableDeclaration") return undefined;
  const isCounted = ({ id, init }: VariableDeclarator) =>
    id.type === "Identifier" && id.name === name && init;
  if (!init.declarations.some(isCounted)) return undefined;
  const declarations = init.declarations.map((one) =>
    isCounted(one) ? { ...one, init: moved(one.init!) } : one,
  );
  return { ...init, declarations };
}

/** A loop over the elements of an array. */
export interface ElementsLoop {
  /** The array. */
  readonly right: Expression;
  /** The pattern for an element; null if the loop does not use elements. */
  readonly target: Node | null;
  /** The name of the variable for its index. */
  readonly index: string | undefined;
  /** The method of the array that the loop calls. */
  readonly method: "values" | "entries" | "forEach";
  readonly body: Statement;
  /** The function that `forEach` calls. */
  readonly callback: Node | undefined;
}

/**
 * Returns a loop over the elements of an array: `for (const x of a)`,
 * `for (const [i, x] of a.entries())` or `a.forEach((x, i) => …)`. Undefined for other statements.
 */
export function elementsLoop(statement: Node): ElementsLoop | undefined {
  return statement.type === "ForOfStatement" ? forOf(statement) : forEach(statement);
}

function forOf({ left, right, body, await: waits }: ForOfStatement): ElementsLoop | undefined {
  const [declarator, ...others] = left.type === "VariableDeclaration" ? left.declarations : [];
  const isOwn = left.type === "VariableDeclaration" && (left.kind === "const" || left.kind === "let");
  if (waits || !isOwn || !declarator || others.length > 0) return undefined;
  const target = declarator.id;
  const plain = { target, index: undefined, right, method: "values", body, callback: undefined } as const;
  const entries = right.type === "CallExpression" && right.arguments.length === 0 ? right.callee : undefined;
  if (entries?.type !== "MemberExpression" || entries.computed || entries.optional) return plain;
  if ((entries.property as IdentifierName).name !== "entries") return plain;
  if (target.type !== "ArrayPattern" || target.elements.length > 2) return undefined;
  const [index = null, element = null] = target.elements;
  if (index && index.type !== "Identifier") return undefined;
  return { ...plain, target: element, index: index?.name, right: entries.object, method: "entries" };
}

/** The callback is written in place, has no `this` of its own, and changes no index. */
function forEach(statement: Node): ElementsLoop | undefined {
  if (statement.type !== "ExpressionStatement" || statement.expression.type !== "CallExpression")
    return undefined;
  const { callee, arguments: args, optional } = statement.expression;
  if (callee.type !== "MemberExpression" || callee.computed || callee.optional || optional) return undefined;
  if ((callee.property as IdentifierName).name !== "forEach" || args.length !== 1) return undefined;
  const callback = args[0]!;
  if (callback.type !== "ArrowFunctionExpression" && callback.type !== "FunctionExpression") return undefined;
  const [target, index, ...others] = callback.params;
  if (callback.async || ("generator" in callback && callback.generator)) return undefined;
  if (!target || others.length > 0 || !callback.body) return undefined;
  if (!["Identifier", "ArrayPattern", "ObjectPattern"].includes(target.type)) return undefined;
  if (index && index.type !== "Identifier") return undefined;
  if (callback.type === "FunctionExpression" && usesCall(callback.body)) return undefined;
  const block = callback.body as Node;
  const body = (
    block.type === "BlockStatement"
      ? block
      : { type: "ExpressionStatement", expression: block, start: block.start, end: block.end }
  ) as Statement;
  return { right: callee.object, target, index: index?.name, method: "forEach", body, callback };
}

/** Returns true if a function's body uses its `this` or its `arguments`. */
const usesCall = (node: Node): boolean =>
  node.type === "ThisExpression" ||
  (node.type === "Identifier" && node.name === "arguments") ||
  childrenOf(node).some(usesCall);

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

/** Returns a loop over elements as a `for` that counts them with a variable. */
function ofElements(
  { right, index: name = "$place", body, callback }: ElementsLoop,
  node: Node,
  scopes: Scopes,
): ForStatement | undefined {
  const { start, end } = node;
  const scope = scopes.get(callback ?? node)!;
  const known = scope.bindings.get(name);
  // Another loop around this one may have counted with the variable.
  if (known?.assignments.some(({ start }) => start !== right.start)) return undefined;
  const at = { start: right.start, end: right.end };
  const place = { type: "Identifier", name, ...at } as IdentifierReference;
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
  const binding = {
    name,
    kind: "let",
    declaration: declarator,
    scope,
    assignments: [update],
  } as const;
  scope.bindings.set(name, { ...binding, assignments: [update] });
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

import { type Node, type Program, visitorKeys } from "oxc-parser";

/** A name's meaning in a scope. */
export interface Binding {
  readonly name: string;
  readonly kind: "import" | "const" | "let" | "var" | "parameter" | "function" | "class" | "type" | "other";
  /** The declaration: a declarator, a function, an import specifier, a parameter's pattern. */
  readonly declaration: Node;
  readonly scope: Scope;
  /** All nodes that assign to the name after its declaration. */
  readonly assignments: Node[];
}

export interface Scope {
  readonly parent: Scope | undefined;
  readonly node: Node;
  readonly bindings: Map<string, Binding>;
}

/** The scopes of a file, by the node that makes each: the program, functions, blocks, loops. */
export type Scopes = Map<Node, Scope>;

export const isFunction = (node: Node) =>
  node.type === "FunctionDeclaration" ||
  node.type === "FunctionExpression" ||
  node.type === "ArrowFunctionExpression";

const makesScope = (node: Node) =>
  isFunction(node) ||
  /^(Program|BlockStatement|ForStatement|ForInStatement|ForOfStatement|SwitchStatement|CatchClause|StaticBlock|Class.*|TSModuleBlock)$/.test(
    node.type,
  );

/** Returns the binding of a name as seen from `scope`. */
export function lookUp(scope: Scope | undefined, name: string): Binding | undefined {
  for (let at = scope; at; at = at.parent) {
    const binding = at.bindings.get(name);
    if (binding) return binding;
  }
  return undefined;
}

/** Returns true if a name is used nowhere outside of a node. */
export function isUsedOnlyIn(binding: Binding, node: Node, scopes: Scopes): boolean {
  return referencesTo(binding, scopes).every(({ start, end }) => node.start <= start && end <= node.end);
}

/** Returns the identifiers that mean a binding, with its declarations. */
export function referencesTo(binding: Binding, scopes: Scopes): readonly Node[] {
  return [...identifiersIn(binding.scope.node, scopes, binding.scope)].flatMap(([node, scope]) =>
    node.name === binding.name && lookUp(scope, node.name) === binding ? [node] : [],
  );
}

/**
 * Yields the identifiers in a node that are no names of properties, each with the scope around it.
 */
export function* identifiersIn(
  root: Node,
  scopes: Scopes,
  around: Scope,
): Generator<readonly [Extract<Node, { type: "Identifier" }>, Scope]> {
  if (root.type === "Identifier") yield [root, around];
  for (const [node, scope] of everyNode(root, scopes, around)) {
    const keys = new Set<Node>();
    if (node.type === "MemberExpression" && !node.computed) keys.add(node.property);
    if (node.type === "Property" && !node.computed && !node.shorthand) keys.add(node.key);
    const inner = scopes.get(node) ?? scope;
    for (const child of childrenOf(node)) {
      if (child.type === "Identifier" && !keys.has(child)) yield [child, inner];
    }
  }
}

export function childrenOf(node: Node): Node[] {
  return (visitorKeys[node.type] ?? []).flatMap((key) => {
    const child = (node as unknown as Record<string, Node | (Node | null)[] | null>)[key];
    return (Array.isArray(child) ? child : [child]).filter((one): one is Node => one != null);
  });
}

/** Yields a node and every node in it, each with the scope around it. */
export function* everyNode(
  root: Node,
  scopes: Scopes,
  around: Scope = scopes.get(root)!,
): Generator<readonly [Node, Scope]> {
  const pending: [Node, Scope][] = [[root, around]];
  for (let next = pending.pop(); next; next = pending.pop()) {
    yield next;
    const [node, scope] = next;
    for (const child of childrenOf(node).reverse()) pending.push([child, scopes.get(node) ?? scope]);
  }
}

/** Finds every declaration and its scope. */
export function resolveScopes(program: Program): Scopes {
  const scopes = new Map<Node, Scope>();
  const assignments: [Scope, string, Node][] = [];
  const pending: [Node, Scope | undefined][] = [[program, undefined]];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const [node, outer] = next;
    if (outer) declare(node, outer);
    const scope = makesScope(node) ? open(scopes, node, outer) : outer!;
    if (node.type === "AssignmentExpression") assign(node.left);
    if (node.type === "UpdateExpression") assign(node.argument);
    if ((node.type === "ForInStatement" || node.type === "ForOfStatement") && !isDeclaration(node.left)) {
      assign(node.left);
    }
    for (const child of childrenOf(node)) pending.push([child, scope]);

    function assign(target: Node): void {
      for (const { name } of namesOf(target)) assignments.push([scope, name, node]);
    }
  }
  for (const [scope, name, node] of assignments) lookUp(scope, name)?.assignments.push(node);
  return scopes;
}

const isDeclaration = (node: Node) => node.type === "VariableDeclaration";

function open(scopes: Map<Node, Scope>, node: Node, parent: Scope | undefined): Scope {
  const scope: Scope = { parent, node, bindings: new Map() };
  scopes.set(node, scope);
  if ("params" in node && Array.isArray(node.params)) {
    for (const parameter of node.params as Node[]) add(scope, parameter, "parameter", parameter);
  }
  if (node.type === "CatchClause" && node.param) add(scope, node.param, "other", node);
  if (node.type === "FunctionExpression" && node.id) add(scope, node.id, "function", node);
  return scope;
}

/** Adds the names that a declaration declares to the scope around it. */
function declare(node: Node, scope: Scope): void {
  switch (node.type) {
    case "VariableDeclaration": {
      const kind = node.kind === "const" || node.kind === "let" || node.kind === "var" ? node.kind : "other";
      for (const declarator of node.declarations) {
        add(kind === "var" ? functionScope(scope) : scope, declarator.id, kind, declarator);
      }
      break;
    }
    case "FunctionDeclaration":
      if (node.id) add(scope, node.id, "function", node);
      break;
    case "ClassDeclaration":
      if (node.id) add(scope, node.id, "class", node);
      break;
    case "ImportSpecifier":
    case "ImportDefaultSpecifier":
    case "ImportNamespaceSpecifier":
      add(scope, node.local, "import", node);
      break;
    case "TSTypeAliasDeclaration":
    case "TSInterfaceDeclaration":
      if (!scope.bindings.has(node.id.name)) add(scope, node.id, "type", node);
      break;
    case "TSModuleDeclaration":
      if (node.id.type === "Identifier" && !scope.bindings.has(node.id.name))
        add(scope, node.id, "other", node);
      break;
    case "TSEnumDeclaration":
      add(scope, node.id, "other", node);
      break;
  }
}

function functionScope(scope: Scope): Scope {
  let at = scope;
  while (at.parent && !isFunction(at.node) && at.node.type !== "StaticBlock") at = at.parent;
  return at;
}

function add(scope: Scope, pattern: Node, kind: Binding["kind"], declaration: Node): void {
  for (const { name } of namesOf(pattern)) {
    scope.bindings.set(name, { name, kind, declaration, scope, assignments: [] });
  }
}

/** Returns the identifiers that a pattern binds or assigns to. */
export function namesOf(pattern: Node): { readonly name: string; readonly node: Node }[] {
  switch (pattern.type) {
    case "Identifier":
      return [{ name: pattern.name, node: pattern }];
    case "ObjectPattern":
    case "ArrayPattern":
    case "AssignmentPattern":
    case "RestElement":
    case "Property":
    case "TSParameterProperty":
      return childrenOf(pattern).flatMap((child) => (isKey(pattern, child) ? [] : namesOf(child)));
    case "TSNonNullExpression":
    case "TSAsExpression":
    case "TSSatisfiesExpression":
    case "TSTypeAssertion":
      return namesOf(pattern.expression);
    default:
      return [];
  }
}

/**
 * Returns true for the parts of a pattern that bind nothing: the key of a property and a default
 * value.
 */
function isKey(pattern: Node, child: Node): boolean {
  if (pattern.type === "Property") return child === pattern.key && child !== pattern.value;
  return pattern.type === "AssignmentPattern" && child === pattern.right;
}

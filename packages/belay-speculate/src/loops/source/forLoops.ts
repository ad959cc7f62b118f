import type { ForStatement, Node } from "oxc-parser";
import type { ParsedFile } from "./parse.ts";
import { childrenOf, isFunction, type Scope, type Scopes } from "./scopes.ts";

/** A `for` statement and what is around it. */
export interface ForLoop {
  readonly node: ForStatement;
  readonly label: string | undefined;
  /** The loop, or its label. */
  readonly start: number;
  readonly scope: Scope;
  /** The function around it; the program when there is none. */
  readonly container: Node;
  /** The statements of the block that it is in. */
  readonly siblings: readonly Node[];
}

/** Every `for` of the file, in order. */
export function forLoops({ program }: ParsedFile, scopes: Scopes): ForLoop[] {
  const loops: ForLoop[] = [];
  type Place = Omit<ForLoop, "node"> & { readonly node: Node };
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
    if (node.type === "ForStatement") loops.push({ ...place, node });
    const siblings = "body" in node && Array.isArray(node.body) ? (node.body as Node[]) : [];
    const scope = scopes.get(node) ?? place.scope;
    const container = isFunction(node) ? node : place.container;
    for (const child of childrenOf(node)) {
      pending.push({ node: child, label: undefined, start: child.start, scope, container, siblings });
    }
  }
  return loops.sort((one, other) => one.start - other.start);
}

/** What a function is called: by its declaration, or by the variable that it is the value of. */
export function nameOf(container: Node, scopes: Scopes): string | undefined {
  if ("id" in container && container.id && "name" in container.id) return container.id.name;
  for (const [name, { declaration }] of scopes.get(container)?.parent?.bindings ?? []) {
    if (declaration.type === "VariableDeclarator" && declaration.init === container) return name;
  }
  return undefined;
}

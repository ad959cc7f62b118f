import type { ForStatement, Node } from "oxc-parser";
import type { ParsedFile } from "./parse.ts";
import { childrenOf, isFunction, type Scope, type Scopes } from "./scopes.ts";

/** A `for` statement and its surroundings. */
export interface ForLoop {
  readonly node: ForStatement;
  readonly label: string | undefined;
  /** The start of the loop, or of its label. */
  readonly start: number;
  readonly scope: Scope;
  /** The function around the loop; the program if there is none. */
  readonly container: Node;
  /** The statements of the block around the loop. */
  readonly siblings: readonly Node[];
}

/** Returns every `for` of the file, in order. */
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

/** Returns a function's name, from its declaration or from the variable that holds it. */
export function nameOf(container: Node, scopes: Scopes): string | undefined {
  if ("id" in container && container.id && "name" in container.id) return container.id.name;
  for (const [name, { declaration }] of scopes.get(container)?.parent?.bindings ?? []) {
    if (declaration.type === "VariableDeclarator" && declaration.init === container) return name;
  }
  return undefined;
}

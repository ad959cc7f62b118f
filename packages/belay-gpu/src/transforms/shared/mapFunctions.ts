import type { Block, Declaration, FunctionDeclaration, Module } from "../../wgsl/ast.ts";
import { mapChildren } from "../../wgsl/traverse.ts";

/**
 * The module with each function replaced by what `f` makes of it; it is `module` itself when
 * nothing changed.
 */
export function mapFunctions(module: Module, f: (fn: FunctionDeclaration) => FunctionDeclaration): Module {
  return mapChildren(module, (child) => (child.kind === "function" ? f(child) : child));
}

/**
 * The module with each function's body replaced by what `f` makes of it; it is `module` itself when
 * nothing changed.
 */
export function mapBodies(module: Module, f: (body: Block, fn: FunctionDeclaration) => Block): Module {
  return mapFunctions(module, (fn) => {
    const body = f(fn.body, fn);
    return body === fn.body ? fn : { ...fn, body };
  });
}

/** The module with declarations behind its own; it is `module` itself when there are none. */
export function withDeclarations(module: Module, added: readonly Declaration[]): Module {
  return added.length === 0 ? module : { ...module, declarations: [...module.declarations, ...added] };
}

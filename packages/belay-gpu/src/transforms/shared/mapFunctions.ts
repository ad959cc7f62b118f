import type { Block, Declaration, FunctionDeclaration, Module } from "../../wgsl/ast.ts";
import { mapChildren } from "../../wgsl/traverse.ts";

/**
 * Returns the module with `f` applied to each function. Returns `module` itself if nothing changed.
 */
export function mapFunctions(module: Module, f: (fn: FunctionDeclaration) => FunctionDeclaration): Module {
  return mapChildren(module, (child) => (child.kind === "function" ? f(child) : child));
}

/**
 * Returns the module with `f` applied to each function's body. Returns `module` itself if nothing
 * changed.
 */
export function mapBodies(module: Module, f: (body: Block, fn: FunctionDeclaration) => Block): Module {
  return mapFunctions(module, (fn) => {
    const body = f(fn.body, fn);
    return body === fn.body ? fn : { ...fn, body };
  });
}

/**
 * Returns the module with declarations added after its own. Returns `module` itself if there are
 * none.
 */
export function withDeclarations(module: Module, added: readonly Declaration[]): Module {
  return added.length === 0 ? module : { ...module, declarations: [...module.declarations, ...added] };
}

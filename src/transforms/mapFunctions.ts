import type { FunctionDeclaration, Module } from "../wgsl/ast.ts";

/** The module with each function replaced by what `f` makes of it; other declarations are shared. */
export function mapFunctions(module: Module, f: (fn: FunctionDeclaration) => FunctionDeclaration): Module {
  return { ...module, declarations: module.declarations.map((d) => (d.kind === "function" ? f(d) : d)) };
}

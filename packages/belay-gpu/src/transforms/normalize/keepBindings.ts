/**
 * Adds uses of an entry point's resources that transforms have removed. A pipeline's default layout
 * contains used resources only. The program's bind group would be rejected if it bound a buffer
 * whose only use was a pointer that resolvePointers removed.
 *
 * Before:   fn main() { let p = &a; }     (resolvePointers removes the statement)
 * After:    fn main() { _ = &a; }
 *
 * `source` is the program whose resources are kept.
 *
 * Requires: variables have the names that they have in `source`.
 * Ensures:  a valid module. Each entry point uses the resources that it uses in `source`.
 * Order:    last.
 */
import { bindingPointOf } from "../../analysis/bindings.ts";
import { functionsOf, reachableFrom, variablesOf } from "../../analysis/callGraph.ts";
import { addressSpaceOf } from "../../analysis/places.ts";
import type { FunctionDeclaration, GlobalVariable, Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { mapFunctions } from "../shared/mapFunctions.ts";

export function keepBindings(
  program: Program,
  source: Program,
  { entryPoints }: { readonly entryPoints: ReadonlySet<string> },
): Module {
  const before = new Map(functionsOf(source).map((fn) => [fn.name, fn]));
  const used = (of: Program, fn: FunctionDeclaration): GlobalVariable[] =>
    [...variablesOf(of, reachableFrom(of, [fn]))].filter((variable) => bindingPointOf(of, variable));
  return mapFunctions(program.module, (fn) => {
    const original = entryPoints.has(fn.name) && before.get(fn.name);
    if (!original) return fn;
    const kept = new Set(used(program, fn).map(({ name }) => name));
    const lost = used(source, original).filter(({ name }) => !kept.has(name));
    const uses = lost.flatMap((variable) => {
      const { statements } = quote(variable.span);
      return addressSpaceOf(variable) === "handle"
        ? statements`_ = ${variable.name};`
        : statements`_ = &${variable.name};`;
    });
    return uses.length === 0
      ? fn
      : { ...fn, body: { ...fn.body, statements: [...uses, ...fn.body.statements] } };
  });
}

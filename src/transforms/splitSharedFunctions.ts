/**
 * Gives entry points that are left alone their own copies of the functions and workgroup variables they share with
 * protected ones, so that protecting the one does not change the other.
 *
 * Before:  fn f() {}   fn safe() { f(); }   fn plain() { f(); }
 * After:   fn f() {}   fn safe() { f(); }   fn f_1() {}   fn plain() { f_1(); }
 *
 * Requires: unique names.   Ensures: valid module; nothing that a protected entry point reaches is reached by another.
 * Order:    before every transform that changes functions of protected entry points.
 */
import { functionsOf, reachableFrom, stageOf, variablesOf } from "../analysis/callGraph.ts";
import { addressSpaceOf } from "../analysis/places.ts";
import type { Declaration, FunctionDeclaration, GlobalVariable, Module } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { mapExpressions } from "../wgsl/traverse.ts";
import type { Names } from "./names.ts";

export function splitSharedFunctions(
  program: Program,
  names: Names,
  protectedEntryPoints: ReadonlySet<string>,
): Module {
  const entryPoints = functionsOf(program).filter((fn) => stageOf(fn));
  const inside = reachableFrom(
    program,
    entryPoints.filter((fn) => protectedEntryPoints.has(fn.name)),
  );
  const outside = reachableFrom(
    program,
    entryPoints.filter((fn) => !protectedEntryPoints.has(fn.name)),
  );
  const insideVariables = variablesOf(program, inside);

  const copies = new Map<FunctionDeclaration | GlobalVariable, string>();
  for (const fn of outside) if (inside.has(fn)) copies.set(fn, names.fresh(fn.name));
  for (const variable of variablesOf(program, outside)) {
    const shared = insideVariables.has(variable) && addressSpaceOf(variable) === "workgroup";
    if (shared) copies.set(variable, names.fresh(variable.name));
  }
  if (copies.size === 0) return program.module;

  const renamed = <T extends Declaration>(declaration: T): T =>
    mapExpressions(declaration, (expression) => {
      if (expression.kind !== "identifier") return expression;
      const target = program.targetOf(expression);
      const name =
        target?.kind === "function" || target?.kind === "globalVariable" ? copies.get(target) : undefined;
      return name ? { ...expression, name } : expression;
    });
  const declarations = program.module.declarations.flatMap((declaration): Declaration[] => {
    if (declaration.kind !== "function" && declaration.kind !== "globalVariable") return [declaration];
    const name = copies.get(declaration);
    // The copy shares no node with the original: what a node means is kept by node.
    if (name) return [declaration, structuredClone({ ...renamed(declaration), name })];
    return [declaration.kind === "function" && outside.has(declaration) ? renamed(declaration) : declaration];
  });
  return { ...program.module, declarations };
}

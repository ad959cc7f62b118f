/**
 * Gives groups of entry points their own copies of the functions and workgroup variables they share with other groups,
 * so that changing what the one reaches does not change the other.
 *
 * Before:  fn f() {}   fn safe() { f(); }   fn plain() { f(); }
 * After:   fn f() {}   fn safe() { f(); }   fn f_1() {}   fn plain() { f_1(); }
 *
 * The entry points in none of the `groups`, which are left alone, are the last group.
 *
 * Requires: unique names.   Ensures: valid module; nothing that one group reaches is reached by another.
 * Order:    before every transform that changes functions of protected entry points.
 */
import { functionsOf, reachableFrom, stageOf, variablesOf } from "../../analysis/callGraph.ts";
import { addressSpaceOf } from "../../analysis/places.ts";
import type { Declaration, FunctionDeclaration, GlobalVariable, Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { mapExpressions } from "../../wgsl/traverse.ts";
import type { Names } from "../shared/names.ts";

/** The names of a group's copies, by what they are copies of. */
type Copies = Map<FunctionDeclaration | GlobalVariable, string>;

export function splitSharedFunctions(
  program: Program,
  names: Names,
  groups: readonly ReadonlySet<string>[],
): Module {
  const entryPoints = functionsOf(program).filter((fn) => stageOf(fn));
  const isListed = (fn: FunctionDeclaration) => groups.some((group) => group.has(fn.name));
  const members = [
    ...groups.map((group) => entryPoints.filter((fn) => group.has(fn.name))),
    entryPoints.filter((fn) => !isListed(fn)),
  ];
  /** The copies of each group, and of the group that a function belongs to. */
  const allCopies: Copies[] = [];
  const copiesOf = new Map<FunctionDeclaration | GlobalVariable, Copies>();
  for (const group of members) {
    const copies: Copies = new Map();
    allCopies.push(copies);
    const functions = reachableFrom(program, group);
    const workgroup = [...variablesOf(program, functions)].filter((v) => addressSpaceOf(v) === "workgroup");
    for (const shared of [...functions, ...workgroup]) {
      if (!copiesOf.has(shared)) copiesOf.set(shared, copies);
      // Memory stays the user's, and so does its name.
      else
        copies.set(
          shared,
          shared.kind === "function" ? names.fresh(shared.name) : names.another(shared.name),
        );
    }
  }
  if (allCopies.every((copies) => copies.size === 0)) return program.module;

  const renamed = <T extends Declaration>(declaration: T, copies: Copies | undefined): T =>
    mapExpressions(declaration, (expression) => {
      if (expression.kind !== "identifier") return expression;
      const target = program.targetOf(expression);
      const name =
        target?.kind === "function" || target?.kind === "globalVariable" ? copies?.get(target) : undefined;
      return name ? { ...expression, name } : expression;
    });
  const declarations = program.module.declarations.flatMap((declaration): Declaration[] => {
    if (declaration.kind !== "function" && declaration.kind !== "globalVariable") return [declaration];
    // A copy shares no node with the original: what a node means is kept by node.
    const copied = allCopies.flatMap((copies) => {
      const name = copies.get(declaration);
      return name ? [structuredClone({ ...renamed(declaration, copies), name })] : [];
    });
    return [renamed(declaration, copiesOf.get(declaration)), ...copied];
  });
  return { ...program.module, declarations };
}

/**
 * Adds copies of the functions and workgroup variables that several groups of entry points share. A
 * change to the functions of one group then leaves the other groups as they were.
 *
 * Before:   fn f() {}   fn safe() { f(); }                 fn plain() { f(); }
 * After:    fn f() {}   fn safe() { f(); }   fn f_1() {}   fn plain() { f_1(); }
 *
 * Entry points outside of all `groups` are one more group, the last.
 *
 * Requires: unique names.
 * Ensures:  a valid module. No function and no workgroup variable is reachable from two groups.
 * Order:    before every transform that changes functions of protected entry points.
 */
import { functionsOf, reachableFrom, stageOf, variablesOf } from "../../analysis/callGraph.ts";
import { addressSpaceOf } from "../../analysis/places.ts";
import type { Declaration, FunctionDeclaration, GlobalVariable, Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { mapExpressions } from "../../wgsl/traverse.ts";
import type { Names } from "../shared/names.ts";

/** The names of a group's copies, by their originals. */
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
  /** The copies of each group, in the order of the groups. */
  const allCopies: Copies[] = [];
  /** The copies of the group that keeps an original: the first group that reaches it. */
  const copiesOf = new Map<FunctionDeclaration | GlobalVariable, Copies>();
  for (const group of members) {
    const copies: Copies = new Map();
    allCopies.push(copies);
    const functions = reachableFrom(program, group);
    const workgroup = [...variablesOf(program, functions)].filter((v) => addressSpaceOf(v) === "workgroup");
    for (const shared of [...functions, ...workgroup]) {
      if (!copiesOf.has(shared)) copiesOf.set(shared, copies);
      // Other variables stay shared: they are the program's memory. A copy of a workgroup variable
      // counts as the program's too.
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
    // A copy shares no node with its original, because facts are stored by node.
    const copied = allCopies.flatMap((copies) => {
      const name = copies.get(declaration);
      return name ? [structuredClone({ ...renamed(declaration, copies), name })] : [];
    });
    return [renamed(declaration, copiesOf.get(declaration)), ...copied];
  });
  return { ...program.module, declarations };
}

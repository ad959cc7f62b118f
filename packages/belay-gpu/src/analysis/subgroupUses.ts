/** Finds the places at which a kernel sees its neighbors in a subgroup. */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { FunctionDeclaration, Parameter } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, walk } from "../wgsl/traverse.ts";
import { builtinFunction } from "./effects.ts";

/** A subgroup operation, or the use of a built-in value of subgroups. */
export interface SubgroupUse {
  readonly span: Span;
  /** The operation or the value, in words. */
  readonly what: string;
  /** True if the value is the same for all invocations that may run in a subgroup. */
  readonly isShared: boolean;
}

/**
 * Returns the subgroup operations in functions, and their uses of built-in values of subgroups. A
 * declaration alone is no use.
 */
export function subgroupUses(program: Program, functions: Iterable<FunctionDeclaration>): SubgroupUse[] {
  const found: SubgroupUse[] = [];
  for (const fn of functions) {
    const used = usedValues(program, fn);
    for (const parameter of fn.parameters) {
      const type = program.declaredTypeOf(parameter);
      const members = type.kind === "struct" ? (type.declaration?.members ?? []) : [];
      for (const holder of [parameter, ...members]) {
        const builtin = holder.attributes.find((a) => a.name === "builtin")?.args[0];
        if (builtin?.kind !== "identifier" || !/subgroup/.test(builtin.name)) continue;
        const isUsed = holder === parameter ? used.has(parameter) : used.get(parameter)?.has(holder.name);
        const isShared = builtin.name === "subgroup_size" || builtin.name === "num_subgroups";
        if (isUsed)
          found.push({ span: builtin.span, what: `the built-in value "${builtin.name}"`, isShared });
      }
    }
    walk(fn.body, (node) => {
      if (node.kind !== "call") return;
      const name = builtinFunction(program, node);
      if (name && /^(subgroup|quad)/.test(name))
        found.push({ span: node.span, what: `"${name}"`, isShared: false });
    });
  }
  return found;
}

/**
 * Returns the parameters that a function uses, each with its used members. A struct that is used as
 * a whole has all of them.
 */
function usedValues(
  program: Program,
  fn: FunctionDeclaration,
): Map<Parameter, { has(member: string): boolean }> {
  const used = new Map<Parameter, { has(member: string): boolean }>();
  const membersOf = new Map<Parameter, Set<string>>();
  const all = { has: () => true };
  const parameterOf = (node: AnyNode) => {
    const target = node.kind === "identifier" ? program.targetOf(node) : undefined;
    return target?.kind === "parameter" ? target : undefined;
  };
  walk(fn.body, (node) => {
    const base = node.kind === "memberAccess" ? parameterOf(node.base) : undefined;
    if (base && node.kind === "memberAccess") {
      const members = membersOf.get(base) ?? new Set<string>();
      membersOf.set(base, members.add(node.member));
      if (!used.has(base)) used.set(base, members);
      return false;
    }
    const parameter = parameterOf(node);
    if (parameter) used.set(parameter, all);
    return true;
  });
  return used;
}

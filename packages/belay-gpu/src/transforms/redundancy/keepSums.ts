/**
 * Stores values of the source beside the results that are functions of them, so that a check can
 * see both.
 *
 * Before:   c[i] = max(sum, 0.0);
 * After:    @group(1) @binding(1) var<storage, read_write> sums: array<f32>;
 *           var<private> kept: f32;
 *           fn keep(x: f32) -> f32 { kept = x; return x; }
 *           ...
 *           c[i] = max(keep(sum), 0.0);
 *           sums[i] = kept;
 *
 * Requires: uniqueNames.
 * Ensures:  a valid module in which each store to the results is followed by one of the value that
 *           was kept last, to the same place of another buffer.
 * Order:    before transforms that change the accesses of the source.
 */
import { type BindingPoint, bindingPointOf } from "../../analysis/bindings.ts";
import { builtinFunction } from "../../analysis/effects.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import type { Assignment, Expression, GlobalVariable, Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { sameType, typeExpressionOf } from "../../wgsl/resolve/index.ts";
import { type AnyNode, contains, mapExpressions, mapStatements, walk } from "../../wgsl/traverse.ts";
import type { Type } from "../../wgsl/types.ts";
import type { Names } from "../shared/names.ts";

/** The stores to a buffer, all of values of one type. */
interface ResultStores {
  readonly variable: GlobalVariable;
  readonly type: Type;
  readonly stores: readonly Assignment[];
}

/**
 * Returns the stores to a buffer that no function uses in another way. Undefined if there are no
 * stores, or such that cannot be repeated for another buffer.
 */
export function resultStores(program: Program, variable: GlobalVariable): ResultStores | undefined {
  const stores: Assignment[] = [];
  let isSimple = true;
  const visit = (node: AnyNode): boolean => {
    if (node.kind === "assign" && node.target && isPartOf(program, variable, node.target)) {
      if (node.operator !== "=" || contains(node.target, (each) => mayHaveEffects(program, each)))
        isSimple = false;
      stores.push(node);
      walk(node.value, visit);
      return false;
    }
    // The header of a loop has no room for another store.
    if (node.kind === "for")
      for (const part of [node.initializer, node.update])
        isSimple &&= !part || !contains(part, (each) => isVariable(program, variable, each));
    isSimple &&= !isVariable(program, variable, node);
    return !(node.kind === "call" && builtinFunction(program, node) === "arrayLength");
  };
  for (const each of program.module.declarations) if (each.kind === "function") walk(each.body, visit);
  const [first] = stores;
  if (!first || !isSimple) return undefined;
  const type = program.valueTypeOf(first.target!);
  const isAlike = stores.every(({ target }) => sameType(program.valueTypeOf(target!), type));
  return isAlike ? { variable, type, stores } : undefined;
}

/** Returns true for a part of a variable, other than by a pointer. */
function isPartOf(program: Program, variable: GlobalVariable, place: Expression): boolean {
  if (place.kind === "index" || place.kind === "memberAccess") return isPartOf(program, variable, place.base);
  return isVariable(program, variable, place);
}

const isVariable = (program: Program, variable: GlobalVariable, node: AnyNode): boolean =>
  node.kind === "identifier" && program.targetOf(node) === variable;

/** Returns true for a call of a function of the program, and for an atomic operation. */
const mayHaveEffects = (program: Program, node: AnyNode): boolean =>
  node.kind === "call" &&
  (program.targetOf(node.callee)?.kind === "function" ||
    (builtinFunction(program, node)?.startsWith("atomic") ?? false));

/** Returns the place of the same part in another variable. */
function inVariable(name: string, place: Expression): Expression {
  if (place.kind === "index" || place.kind === "memberAccess")
    return { ...place, base: inVariable(name, place.base) };
  return { ...place, name } as Expression;
}

/**
 * Returns the variable that is bound at a point. Undefined if entry points have several of them.
 */
export function variableAt(program: Program, { group, binding }: BindingPoint): GlobalVariable | undefined {
  const bound = program.module.declarations.filter((each) => {
    const point = each.kind === "globalVariable" ? bindingPointOf(program, each) : undefined;
    return point?.group === group && point.binding === binding;
  });
  return bound.length === 1 ? (bound[0] as GlobalVariable) : undefined;
}

/** Values of the source, and the binding point of the buffer for the one that was kept last. */
export interface KeptValues {
  readonly values: readonly Span[];
  readonly at: BindingPoint;
}

/**
 * Returns the module that also stores kept values wherever it stores results. `resultStores` has
 * these stores, and all values have their type.
 */
export function keepSums(
  program: Program,
  names: Names,
  { variable, type, stores }: ResultStores,
  kept: readonly KeptValues[],
): Module {
  const { module } = program;
  // Redundancy is for them as for all that the program declares.
  const added = kept.map(({ values, at }) => ({
    values,
    at,
    sums: names.another("sums"),
    last: names.another("kept"),
    keep: names.another("keep"),
  }));
  const keepers = new Map(added.flatMap(({ values, keep }) => values.map((each) => [keyOf(each), keep])));
  const isStore = new Set(stores.map(({ span }) => keyOf(span)));
  const declarations = module.declarations.map((declaration) => {
    if (declaration.kind !== "function") return declaration;
    const body = mapExpressions(declaration.body, (each) => {
      const keep = keepers.get(keyOf(each.span));
      return keep === undefined ? each : quote(each.span).expression`${keep}(${each})`;
    });
    const storing = mapStatements(body, (each) => {
      if (each.kind !== "assign" || !isStore.has(keyOf(each.span))) return each;
      const { expression } = quote(each.span);
      const others = added.map(({ sums, last }) => ({
        ...each,
        target: inVariable(sums, each.target!),
        value: expression`${last}`,
      }));
      return [each, ...others];
    });
    return { ...declaration, body: storing };
  });
  const written = typeExpressionOf(type);
  const others = added.flatMap(
    ({ at: { group, binding }, sums, last, keep }) =>
      quote().declarations`
        @group(${group}) @binding(${binding}) var<storage, read_write> ${sums}: ${variable.type!};
        var<private> ${last}: ${written};
        fn ${keep}(x: ${written}) -> ${written} {
          ${last} = x;
          return x;
        }`,
  );
  return { ...module, declarations: [...declarations, ...others] };
}

const keyOf = ({ start, end }: Span): string => `${start} ${end}`;

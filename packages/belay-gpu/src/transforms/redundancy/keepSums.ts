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
 * A result may be a component of a vector, `c[i] = v.x`. Then so is its value: `sums[i] = kept.x`.
 *
 * Requires: uniqueNames.
 * Ensures:  a valid module. After each store to the results, it stores the value that was kept last
 *           to the same place of another buffer. This buffer has the type of the results, with
 *           numbers of the type that is kept.
 * Order:    before transforms that change the accesses of the source.
 */
import { type BindingPoint, bindingPointOf } from "../../analysis/bindings.ts";
import { builtinFunction } from "../../analysis/effects.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import type { Assignment, Expression, GlobalVariable, Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { sameType, typeExpressionOf } from "../../wgsl/resolve/index.ts";
import {
  type AnyNode,
  contains,
  isExpression,
  mapExpressions,
  mapStatements,
  walk,
} from "../../wgsl/traverse.ts";
import type { ScalarType, Type } from "../../wgsl/types.ts";
import type { Names } from "../shared/names.ts";

/** The stores to a buffer, all of values of one type. */
export interface ResultStores {
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

/**
 * Returns the type of a buffer for values beside results: that of the results with other numbers.
 * Undefined if there is none for values of this type.
 */
function typeBeside(
  program: Program,
  { variable, type, stores }: ResultStores,
  kept: Type,
): Type | undefined {
  const isWhole =
    kept.kind === type.kind && (kept.kind !== "vector" || kept.size === (type as typeof kept).size);
  const isVector = ({ value }: Assignment) => {
    const vector = vectorIn(program, value);
    return vector !== undefined && kept.kind === "vector" && isOfSize(program.valueTypeOf(vector), kept.size);
  };
  if (!isWhole && !(type.kind === "scalar" && stores.every(isVector))) return undefined;
  const number = numberOf(kept);
  const declared = program.declaredTypeOf(variable);
  if (!number) return undefined;
  return sameType(number, numberOf(type)!) ? declared : withNumbers(declared, number);
}

const isOfSize = (type: Type, size: number): boolean => type.kind === "vector" && type.size === size;

/** Returns true if values of a type can be kept beside results. */
export const isKeepable = (program: Program, stores: ResultStores, kept: Type): boolean =>
  typeBeside(program, stores, kept) !== undefined;

/** Returns the vector of which a value is a component, if it is one. */
function vectorIn(program: Program, value: Expression): Expression | undefined {
  if (value.kind !== "memberAccess" && value.kind !== "index") return undefined;
  if (value.kind === "index" && contains(value.index, (each) => mayHaveEffects(program, each)))
    return undefined;
  const isComponent = program.valueTypeOf(value).kind === "scalar";
  return isComponent && program.valueTypeOf(value.base).kind === "vector" ? value.base : undefined;
}

/** Returns the type of the numbers in a scalar or a vector. */
function numberOf(type: Type): ScalarType | undefined {
  if (type.kind === "scalar") return type;
  return type.kind === "vector" ? type.element : undefined;
}

/** Returns an array type with other numbers; undefined if the type has a name of its own. */
function withNumbers(type: Type, number: ScalarType): Type | undefined {
  if (type.kind === "scalar") return number;
  if (type.kind === "vector") return { ...type, element: number };
  const element = type.kind === "array" ? withNumbers(type.element, number) : undefined;
  return element && ({ ...type, element } as Type);
}

/** Values of one type of the source, and the binding point of the buffer for the one kept last. */
export interface KeptValues {
  readonly values: readonly Span[];
  readonly at: BindingPoint;
}

/**
 * Returns the module that also stores kept values wherever it stores results. `resultStores` has
 * these stores, and `isKeepable` is true of the values.
 */
export function keepSums(
  program: Program,
  names: Names,
  results: ResultStores,
  kept: readonly KeptValues[],
): Module {
  const { module } = program;
  const { variable, type, stores } = results;
  const types = typesOf(program, new Set(kept.flatMap(({ values }) => values.map(keyOf))));
  // Redundancy is for them as for all that the program declares.
  const added = kept.map(({ values, at }) => ({
    values,
    at,
    type: types.get(keyOf(values[0]!))!,
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
      const others = added.map(({ sums, last, type: { kind } }) => {
        const whole = expression`${last}`;
        const value = kind === type.kind ? whole : ({ ...each.value, base: whole } as Expression);
        return { ...each, target: inVariable(sums, each.target!), value };
      });
      return [each, ...others];
    });
    return { ...declaration, body: storing };
  });
  const others = added.flatMap(({ at: { group, binding }, type, sums, last, keep }) => {
    const written = typeExpressionOf(type);
    const beside = typeBeside(program, results, type)!;
    const buffer = beside === program.declaredTypeOf(variable) ? variable.type! : typeExpressionOf(beside);
    return quote().declarations`
        @group(${group}) @binding(${binding}) var<storage, read_write> ${sums}: ${buffer};
        var<private> ${last}: ${written};
        fn ${keep}(x: ${written}) -> ${written} {
          ${last} = x;
          return x;
        }`;
  });
  return { ...module, declarations: [...declarations, ...others] };
}

/** Returns the types of the values at some places of the source. */
function typesOf(program: Program, places: ReadonlySet<string>): ReadonlyMap<string, Type> {
  const types = new Map<string, Type>();
  for (const each of program.module.declarations)
    if (each.kind === "function")
      walk(each.body, (node) => {
        if (isExpression(node) && places.has(keyOf(node.span)))
          types.set(keyOf(node.span), program.valueTypeOf(node));
      });
  return types;
}

const keyOf = ({ start, end }: Span): string => `${start} ${end}`;

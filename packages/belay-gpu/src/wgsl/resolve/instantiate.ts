/**
 * What a signature means for a call's arguments: patterns are matched with types, variables solved,
 * types built.
 */
import { isAbstract, matrixType, sameType, scalarRank, scalarTypes, vectorType } from "../conversion.ts";
import { isConstructible } from "../typeFamilies.ts";
import { f32Type, i32Type, type ScalarType, type Type, u32Type, voidType } from "../types.ts";
import { resultStruct } from "./resultStructs.ts";
import type { Constraint, Pattern, Signature, SizePattern } from "./signatures.ts";

export interface Overload {
  readonly signature: Signature;
  /** The types that the arguments convert to. */
  readonly parameters: readonly Type[];
  readonly result: Type;
}

/** What a signature's variables stand for in one call. */
interface Bindings {
  readonly sizes: Map<string, number>;
  /** Every argument type matched by a type variable. */
  readonly types: Map<string, Type[]>;
  readonly texels: Map<string, ScalarType>;
}

/**
 * The overload that a signature is for arguments of these types: its variables stand for the types
 * of least conversion that the constraints allow. Undefined where there are none; whether the
 * arguments convert to its parameters is left to be asked.
 */
export function instantiate(
  signature: Signature,
  args: readonly Type[],
  allConst: boolean,
): Overload | undefined {
  const bindings: Bindings = { sizes: new Map(), types: new Map(), texels: new Map() };
  if (!signature.parameters.every((pattern, i) => match(pattern, args[i]!, bindings))) return undefined;
  const solution = new Map<string, Type>(bindings.texels);
  for (const [variable, types] of bindings.types) {
    if (solution.has(variable)) continue;
    const constraint = signature.constraints.get(variable);
    const type = constraint && solve(constraint, types, allConst);
    if (!type) return undefined;
    solution.set(variable, type);
  }
  const substitute = (pattern: Pattern, argument: Type): Type =>
    build(pattern, bindings.sizes, solution) ?? argument;
  const parameters = signature.parameters.map((pattern, i) => substitute(pattern, args[i]!));
  if (!allConst && parameters.some(isAbstract)) return undefined;
  return {
    signature,
    parameters,
    result: signature.result ? substitute(signature.result, voidType) : voidType,
  };
}

function matchSize(pattern: SizePattern, size: number, sizes: Map<string, number>): boolean {
  if (typeof pattern === "number") return pattern === size;
  const bound = sizes.get(pattern);
  if (bound === undefined) sizes.set(pattern, size);
  return bound === undefined || bound === size;
}

/**
 * Matches an argument's type with a pattern up to the conversion of scalars, and collects what the
 * variables meet.
 */
function match(pattern: Pattern, type: Type, bindings: Bindings): boolean {
  switch (pattern.kind) {
    case "variable": {
      const types = bindings.types.get(pattern.name);
      if (types) types.push(type);
      else bindings.types.set(pattern.name, [type]);
      return true;
    }
    case "scalar":
      return type.kind === "scalar" && Number.isFinite(scalarRank(type, pattern.type));
    case "vector":
      return (
        type.kind === "vector" &&
        matchSize(pattern.size, type.size, bindings.sizes) &&
        match(pattern.element, type.element, bindings)
      );
    case "matrix":
      return (
        type.kind === "matrix" &&
        matchSize(pattern.columns, type.columns, bindings.sizes) &&
        matchSize(pattern.rows, type.rows, bindings.sizes) &&
        match(pattern.element, type.element, bindings)
      );
    case "runtimeArray":
      return (
        type.kind === "array" && type.count === "runtime" && match(pattern.element, type.element, bindings)
      );
    case "atomic":
      return type.kind === "atomic" && match(pattern.element, type.element, bindings);
    case "pointer":
      return (
        type.kind === "pointer" &&
        pattern.spaces.includes(type.space) &&
        pattern.access.includes(type.access) &&
        match(pattern.store, type.store, bindings)
      );
    case "texture":
      if (type.kind !== "texture" || type.name !== pattern.name) return false;
      return (
        !pattern.sampled || (type.sampled !== undefined && match(pattern.sampled, type.sampled, bindings))
      );
    case "storageTexture":
      if (type.kind !== "texture" || type.name !== pattern.name || !pattern.access.includes(type.access!))
        return false;
      bindings.texels.set(pattern.texel, texelScalar(type.format!));
      return true;
    case "sampler":
      return type.kind === "sampler" && type.comparison === pattern.comparison;
    case "result":
      return false;
  }
}

/**
 * The scalar that a texel format's channels have in a shader (specification section "Texel
 * Formats").
 */
function texelScalar(format: string): ScalarType {
  return format.endsWith("uint") ? u32Type : format.endsWith("sint") ? i32Type : f32Type;
}

/**
 * The type of least conversion that all matched types convert to and that the constraint allows.
 */
function solve(constraint: Constraint, types: readonly Type[], allConst: boolean): Type | undefined {
  const first = types[0]!;
  const { scalars } = constraint;
  if (!scalars) {
    const allowed = !constraint.constructible || isConstructible(first);
    return allowed && types.every((type) => sameType(type, first)) ? first : undefined;
  }
  const elements: ScalarType[] = [];
  for (const type of types) {
    if (first.kind === "scalar" && type.kind === "scalar") elements.push(type);
    else if (!constraint.vectors || first.kind !== "vector") return undefined;
    else if (type.kind === "vector" && type.size === first.size) elements.push(type.element);
    else return undefined;
  }
  let best: ScalarType | undefined;
  let bestRank = Number.POSITIVE_INFINITY;
  for (const name of scalars) {
    const scalar = scalarTypes[name];
    if (!allConst && isAbstract(scalar)) continue;
    let rank = 0;
    for (const element of elements) rank += scalarRank(element, scalar);
    if (rank < bestRank) {
      best = scalar;
      bestRank = rank;
    }
  }
  return best && first.kind === "vector" ? vectorType(first.size, best) : best;
}

/**
 * The type that a pattern denotes; undefined where the argument's own type is the parameter's type.
 */
function build(
  pattern: Pattern,
  sizes: ReadonlyMap<string, number>,
  solution: ReadonlyMap<string, Type>,
): Type | undefined {
  const size = (size: SizePattern): number => (typeof size === "number" ? size : sizes.get(size)!);
  switch (pattern.kind) {
    case "variable":
      return solution.get(pattern.name);
    case "scalar":
      return pattern.type;
    case "vector":
      return vectorType(size(pattern.size), build(pattern.element, sizes, solution) as ScalarType);
    case "matrix":
      return matrixType(
        size(pattern.columns),
        size(pattern.rows),
        build(pattern.element, sizes, solution) as ScalarType,
      );
    case "result":
      return resultStruct(pattern.family, build(pattern.operand, sizes, solution)!);
    default:
      return undefined;
  }
}

/**
 * Applies a signature to the arguments of a call: matches patterns with types, solves variables and
 * builds types.
 */
import {
  isAbstract,
  matrixType,
  sameType,
  scalarRank,
  scalarTypes,
  vectorType,
  withElement,
} from "../conversion.ts";
import { elementScalar, isConstructible } from "../typeFamilies.ts";
import {
  abstractIntType,
  boolType,
  f32Type,
  i32Type,
  type ScalarType,
  type StructMemberType,
  type StructType,
  type Type,
  u32Type,
  voidType,
} from "../types.ts";
import type { Constraint, Pattern, Signature, SizePattern } from "./signatures.ts";

/** A signature that was applied to argument types. */
export interface Overload {
  readonly signature: Signature;
  /** The types that the arguments convert to. */
  readonly parameters: readonly Type[];
  readonly result: Type;
}

/** The values of a signature's variables in one call. */
interface Bindings {
  readonly sizes: Map<string, number>;
  /** All argument types that each type variable matched. */
  readonly types: Map<string, Type[]>;
  readonly texels: Map<string, ScalarType>;
}

/**
 * Returns the overload of a signature for arguments of these types, or undefined if there is none.
 * Its variables take the types of least conversion that the constraints allow. The caller checks
 * that the arguments convert to the parameters.
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
 * Matches an argument's type with a pattern, up to conversion of scalars, and records the
 * variables' values.
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
 * Returns the scalar type of a texel format's channels in a shader. Source: WGSL specification,
 * "Texel Formats".
 */
function texelScalar(format: string): ScalarType {
  return format.endsWith("uint") ? u32Type : format.endsWith("sint") ? i32Type : f32Type;
}

/**
 * Returns the type of least conversion that all matched types convert to and the constraint allows.
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
 * Returns the type that a pattern denotes, or undefined if the parameter has the argument's own
 * type.
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

/**
 * The structs that `frexp`, `modf` and `atomicCompareExchangeWeak` return. Programs cannot name
 * them.
 */
const memberTypes: Readonly<Record<string, (operand: Type) => readonly StructMemberType[]>> = {
  __frexp_result: (operand) => [
    { name: "fract", type: operand },
    {
      name: "exp",
      type: withElement(
        operand,
        elementScalar(operand)?.name === "abstract-float" ? abstractIntType : i32Type,
      ),
    },
  ],
  __modf_result: (operand) => [
    { name: "fract", type: operand },
    { name: "whole", type: operand },
  ],
  __atomic_compare_exchange_result: (operand) => [
    { name: "old_value", type: operand },
    { name: "exchanged", type: boolType },
  ],
};

const structs = new Map<string, StructType>();

/** Returns the result struct of a family for an operand type, such as `__frexp_result_vec2_f32`. */
export function resultStruct(family: string, operand: Type): StructType {
  const scalar = elementScalar(operand)!.name.replace("abstract-float", "abstract");
  const name = operand.kind === "vector" ? `${family}_vec${operand.size}_${scalar}` : `${family}_${scalar}`;
  let type = structs.get(name);
  if (!type) {
    type = { kind: "struct", name, members: memberTypes[family]!(operand) };
    structs.set(name, type);
  }
  return type;
}

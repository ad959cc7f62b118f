/** Classifies types by the families that the specification's rules refer to. */
import {
  abstractIntType,
  boolType,
  i32Type,
  type ScalarType,
  type StructType,
  type Type,
  u32Type,
} from "./types.ts";

/** Returns a scalar type itself, or the component type of a vector or matrix. */
export function elementScalar(type: Type): ScalarType | undefined {
  if (type.kind === "scalar") return type;
  return type.kind === "vector" || type.kind === "matrix" ? type.element : undefined;
}

/** Returns true for integer scalars, including AbstractInt. */
export function isInteger(type: Type): type is ScalarType {
  return type === i32Type || type === u32Type || type === abstractIntType;
}

/**
 * Returns true if values of the type can be created, passed, returned and loaded. Source: WGSL
 * specification, "Constructible Types".
 */
export function isConstructible(type: Type): boolean {
  switch (type.kind) {
    case "scalar":
    case "vector":
    case "matrix":
    case "subgroupMatrix":
      return true;
    case "array":
      return typeof type.count === "number" && isConstructible(type.element);
    case "struct":
      return isConstructibleStruct(type);
    default:
      return false;
  }
}

const isConstructibleStruct = forMembers(isConstructible);
const isConstantStruct = forMembers(hasConstants);
const isHostShareableStruct = forMembers(isHostShareable);

/**
 * Returns a predicate that holds for a struct if `holds` does for all members. Structs nest, so the
 * predicate judges each struct once.
 */
function forMembers(holds: (type: Type) => boolean): (struct: StructType) => boolean {
  const judged = new WeakMap<StructType, boolean>();
  return (struct) => {
    const known = judged.get(struct) ?? struct.members.every(({ type }) => holds(type));
    judged.set(struct, known);
    return known;
  };
}

/** Returns true if constants may have the type: no part of it is a subgroup matrix. */
export function hasConstants(type: Type): boolean {
  if (type.kind === "array") return hasConstants(type.element);
  return type.kind === "struct" ? isConstantStruct(type) : type.kind !== "subgroupMatrix";
}

/**
 * Returns true if the type may be an array's element or a struct's member: its size is known at
 * shader creation.
 */
export function isElement(type: Type): boolean {
  switch (type.kind) {
    case "scalar":
    case "vector":
    case "matrix":
    case "atomic":
    case "subgroupMatrix":
      return true;
    case "array":
      return typeof type.count === "number";
    case "struct": {
      const last = type.members.at(-1)?.type;
      return last?.kind !== "array" || typeof last.count === "number";
    }
    default:
      return false;
  }
}

/**
 * Returns true if host and device share the layout of the type, as of all types without `bool`.
 * Source: WGSL specification, "Host-shareable Types".
 */
export function isHostShareable(type: Type): boolean {
  switch (type.kind) {
    case "scalar":
      return type !== boolType;
    case "vector":
      return type.element !== boolType;
    case "array":
      return isHostShareable(type.element);
    case "struct":
      return isHostShareableStruct(type);
    default:
      return type.kind === "matrix" || type.kind === "atomic" || type.kind === "buffer";
  }
}

/** Returns true for textures, samplers and arrays of them, whose values only name a resource. */
export function isHandle(type: Type): boolean {
  return type.kind === "texture" || type.kind === "sampler" || type.kind === "bindingArray";
}

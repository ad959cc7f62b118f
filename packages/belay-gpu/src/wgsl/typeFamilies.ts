/** The families of types that rules speak of. */
import {
  abstractIntType,
  boolType,
  i32Type,
  type ScalarType,
  type StructType,
  type Type,
  u32Type,
} from "./types.ts";

/** A scalar's or a vector's or matrix's component type. */
export function elementScalar(type: Type): ScalarType | undefined {
  if (type.kind === "scalar") return type;
  return type.kind === "vector" || type.kind === "matrix" ? type.element : undefined;
}

export function isInteger(type: Type): type is ScalarType {
  return type === i32Type || type === u32Type || type === abstractIntType;
}

/**
 * Whether values of the type can be created, passed, returned and loaded (specification section
 * "Constructible Types").
 */
export function isConstructible(type: Type): boolean {
  switch (type.kind) {
    case "scalar":
    case "vector":
    case "matrix":
      return true;
    case "array":
      return typeof type.count === "number" && isConstructible(type.element);
    case "struct":
      return isConstructibleStruct(type);
    default:
      return false;
  }
}

const constructibleStructs = new WeakMap<StructType, boolean>();
function isConstructibleStruct(type: StructType): boolean {
  let known = constructibleStructs.get(type);
  if (known === undefined) {
    known = type.members.every((member) => isConstructible(member.type));
    constructibleStructs.set(type, known);
  }
  return known;
}

/**
 * Whether the type may be an array's element or a struct's member: its size is known when the
 * shader is created.
 */
export function isElement(type: Type): boolean {
  switch (type.kind) {
    case "scalar":
    case "vector":
    case "matrix":
    case "atomic":
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
 * Whether host and device lay the type out alike, as they do all but `bool` (specification section
 * "Host-shareable Types").
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
      return type.kind === "matrix" || type.kind === "atomic";
  }
}

const hostShareableStructs = new WeakMap<StructType, boolean>();
function isHostShareableStruct(type: StructType): boolean {
  let known = hostShareableStructs.get(type);
  if (known === undefined) {
    known = type.members.every((member) => isHostShareable(member.type));
    hostShareableStructs.set(type, known);
  }
  return known;
}

/** Textures and samplers: values that only name a resource. */
export function isHandle(type: Type): boolean {
  return type.kind === "texture" || type.kind === "sampler";
}

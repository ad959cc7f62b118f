/** Relates types: equality, automatic conversion and its rank. */
import type { MatrixType, ScalarName, ScalarType, StructType, Type, VectorType } from "./types.ts";
import { abstractFloatType, abstractIntType, boolType, f16Type, f32Type, i32Type, u32Type } from "./types.ts";

export const scalarTypes: Readonly<Record<ScalarName, ScalarType>> = {
  bool: boolType,
  i32: i32Type,
  u32: u32Type,
  f32: f32Type,
  f16: f16Type,
  "abstract-int": abstractIntType,
  "abstract-float": abstractFloatType,
};

const vectors = new Map<string, VectorType>();
/** Returns the one object for a vector type. */
export function vectorType(size: number, element: ScalarType): VectorType {
  const key = `${size}${element.name}`;
  let type = vectors.get(key);
  if (!type) {
    type = { kind: "vector", size: size as VectorType["size"], element };
    vectors.set(key, type);
  }
  return type;
}

const matrices = new Map<string, MatrixType>();
/** Returns the one object for a matrix type. */
export function matrixType(columns: number, rows: number, element: ScalarType): MatrixType {
  const key = `${columns}${rows}${element.name}`;
  let type = matrices.get(key);
  if (!type) {
    type = {
      kind: "matrix",
      columns: columns as MatrixType["columns"],
      rows: rows as MatrixType["rows"],
      element,
    };
    matrices.set(key, type);
  }
  return type;
}

/** Returns true if two types are equal. Source: WGSL specification, "Types". */
export function sameType(a: Type, b: Type): boolean {
  if (a === b) return true;
  switch (a.kind) {
    case "scalar":
      return b.kind === "scalar" && a.name === b.name;
    case "vector":
      return b.kind === "vector" && a.size === b.size && a.element.name === b.element.name;
    case "matrix":
      return (
        b.kind === "matrix" &&
        a.columns === b.columns &&
        a.rows === b.rows &&
        a.element.name === b.element.name
      );
    case "array":
      return (
        b.kind === "array" &&
        a.count === b.count &&
        a.countText === b.countText &&
        sameType(a.element, b.element)
      );
    case "struct":
      return b.kind === "struct" && a.declaration === b.declaration && a.name === b.name;
    case "atomic":
      return b.kind === "atomic" && sameType(a.element, b.element);
    case "pointer":
    case "reference":
      return b.kind === a.kind && a.space === b.space && a.access === b.access && sameType(a.store, b.store);
    case "texture":
      return (
        b.kind === "texture" &&
        a.name === b.name &&
        a.sampled?.name === b.sampled?.name &&
        a.format === b.format &&
        a.access === b.access
      );
    case "sampler":
      return b.kind === "sampler" && a.comparison === b.comparison;
    case "bindingArray":
      return b.kind === "bindingArray" && a.count === b.count && sameType(a.element, b.element);
    case "buffer":
      return b.kind === "buffer" && a.size === b.size;
    case "subgroupMatrix":
      return (
        b.kind === "subgroupMatrix" &&
        a.side === b.side &&
        a.component === b.component &&
        a.columns === b.columns &&
        a.rows === b.rows
      );
    case "void":
      return b.kind === "void";
  }
}

/** The ranks of the conversions of abstract scalars. Lower ranks are preferred. */
const scalarRanks: Partial<Record<ScalarName, Partial<Record<ScalarName, number>>>> = {
  "abstract-float": { f32: 1, f16: 2 },
  "abstract-int": { i32: 3, u32: 4, "abstract-float": 5, f32: 6, f16: 7 },
};

export function scalarRank(from: ScalarType, to: ScalarType): number {
  if (from.name === to.name) return 0;
  return scalarRanks[from.name]?.[to.name] ?? Number.POSITIVE_INFINITY;
}

/**
 * Returns the rank of the automatic conversion between two types, or infinity if there is none.
 * References are not loaded here. Source: WGSL specification, "Conversion Rank".
 */
export function conversionRank(from: Type, to: Type): number {
  if (from.kind === "scalar" && to.kind === "scalar") return scalarRank(from, to);
  if (from.kind === "vector" && to.kind === "vector" && from.size === to.size) {
    return scalarRank(from.element, to.element);
  }
  if (
    from.kind === "matrix" &&
    to.kind === "matrix" &&
    from.columns === to.columns &&
    from.rows === to.rows
  ) {
    return scalarRank(from.element, to.element);
  }
  if (from.kind === "array" && to.kind === "array" && from.count === to.count) {
    if (sameType(from, to)) return 0;
    return typeof from.count === "number"
      ? conversionRank(from.element, to.element)
      : Number.POSITIVE_INFINITY;
  }
  if (from.kind === "struct" && to.kind === "struct" && !from.declaration && !to.declaration) {
    if (from.name === to.name) return 0;
    if (from.name === to.name.replace(/f32$|f16$/, "abstract")) return to.name.endsWith("f32") ? 1 : 2;
  }
  return sameType(from, to) ? 0 : Number.POSITIVE_INFINITY;
}

export function isAbstract(type: Type): boolean {
  switch (type.kind) {
    case "scalar":
      return type === abstractIntType || type === abstractFloatType;
    case "vector":
    case "matrix":
      return isAbstract(type.element);
    case "array":
      return isAbstract(type.element);
    case "struct":
      return !type.declaration && type.name.endsWith("abstract");
    default:
      return false;
  }
}

/** Returns the type with its scalar element replaced. A type without one is returned unchanged. */
export function withElement(type: Type, element: ScalarType): Type {
  switch (type.kind) {
    case "scalar":
      return element;
    case "vector":
      return vectorType(type.size, element);
    case "matrix":
      return matrixType(type.columns, type.rows, element);
    case "array":
      return { ...type, element: withElement(type.element, element) };
    default:
      return type;
  }
}

/**
 * Returns the concrete type that an abstract value takes if nothing else decides. Source: WGSL
 * specification, "concretization".
 */
export function concretize(type: Type): Type {
  switch (type.kind) {
    case "scalar":
      return type === abstractIntType ? i32Type : type === abstractFloatType ? f32Type : type;
    case "vector":
    case "matrix":
      return withElement(type, concretize(type.element) as ScalarType);
    case "array":
      return isAbstract(type) ? { ...type, element: concretize(type.element) } : type;
    case "struct":
      return isAbstract(type) ? concreteResult(type) : type;
    default:
      return type;
  }
}

function concreteResult(type: StructType): StructType {
  return {
    ...type,
    name: type.name.replace(/abstract$/, "f32"),
    members: type.members.map((member) => ({ ...member, type: concretize(member.type) })),
  };
}

/**
 * Returns the type that all of several types automatically convert to, preferring the least
 * conversion; undefined if there is none.
 */
export function commonType(types: readonly Type[]): Type | undefined {
  let common = types[0];
  for (const type of types) {
    if (common === undefined || Number.isFinite(conversionRank(type, common))) continue;
    if (!Number.isFinite(conversionRank(common, type))) return undefined;
    common = type;
  }
  return common;
}

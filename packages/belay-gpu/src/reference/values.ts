/**
 * Values and places while code is generated. An atom is a JavaScript expression without effects: a
 * name or a number. A number of a float type has one atom, or two where intervals are computed.
 */
import { elementScalar } from "../wgsl/typeFamilies.ts";
import type {
  ArrayType,
  PointerType,
  ScalarType,
  StructType,
  SubgroupMatrixType,
  TextureType,
  Type,
  VectorType,
} from "../wgsl/types.ts";

/** The atoms of one scalar. */
export type Scalar = readonly string[];

/** A value of a scalar, vector or matrix type; a matrix has its columns one after another. */
export interface ScalarsValue {
  readonly kind: "scalars";
  readonly type: Type;
  readonly scalars: readonly Scalar[];
}
/** A type whose values are in cells. */
export type CellsType = ArrayType | StructType | SubgroupMatrixType;
/** A value of such a type, in cells that nobody changes while it is used. */
export interface CellsValue {
  readonly kind: "cells";
  readonly type: CellsType;
  readonly place: CellsPlace;
}
/** A pointer. */
export interface PointerValue {
  readonly kind: "pointer";
  readonly type: PointerType;
  readonly place: CellsPlace | BytesPlace;
}
/** A texture. */
export interface TextureValue {
  readonly kind: "texture";
  readonly type: TextureType;
  /** The atom of its view. */
  readonly atom: string;
}
export type EmittedValue = ScalarsValue | CellsValue | PointerValue | TextureValue;

/** A variable of a scalar or vector type that lives in JavaScript variables. */
export interface RegisterPlace {
  readonly kind: "registers";
  readonly type: Type;
  readonly names: readonly Scalar[];
}
/** The memory of one invocation, of a workgroup, or of constants. */
export type Arena = "invocation" | "workgroup" | "constants";
/** A position that is known in part: a constant plus the sum of some atoms. */
export interface Position {
  readonly constant: number;
  readonly atoms: readonly string[];
}
/** Memory with one cell for each scalar. */
export interface CellsPlace {
  readonly kind: "cells";
  readonly type: Type;
  readonly arena: Arena;
  /** The first cell. */
  readonly at: Position;
  /** The position of the vector of which this is a component. */
  readonly vectorAt?: Position;
}
/** A part of a buffer. */
export interface BytesPlace {
  readonly kind: "bytes";
  readonly type: Type;
  /** The atom of the buffer. */
  readonly buffer: string;
  /** The offset in bytes. */
  readonly at: Position;
  /** The offset of the vector of which this is a component. */
  readonly vectorAt?: Position;
  /** The atom of the offset at which the bound range ends. */
  readonly end: string;
  /** The atom that tells whether a place to load from is in the buffer. Default: it is. */
  readonly inside?: string;
}
/** Several components of a vector. */
export interface SwizzlePlace {
  readonly kind: "swizzle";
  readonly type: VectorType;
  readonly components: readonly MemoryPlace[];
}
export type MemoryPlace = RegisterPlace | CellsPlace | BytesPlace;
export type EmittedPlace = MemoryPlace | SwizzlePlace;

/** Returns the number of scalars in a value of a type. */
export function cellCount(type: Type): number {
  switch (type.kind) {
    case "vector":
      return type.size;
    case "matrix":
      return type.columns * type.rows;
    case "array":
      if (typeof type.count !== "number") throw new TypeError("an array without a known length has no cells");
      return type.count * cellCount(type.element);
    case "subgroupMatrix":
      return type.columns * type.rows;
    case "struct":
      return type.members.reduce((cells, member) => cells + cellCount(member.type), 0);
    default:
      return 1;
  }
}

/** Returns true for a type whose values are in cells, also those of `let` and of functions. */
export function isInCells(type: Type): type is CellsType {
  return ["array", "struct", "subgroupMatrix"].includes(type.kind);
}

/** Returns the first cell of a structure's member. */
export function memberCell(type: StructType, member: number): number {
  return type.members.slice(0, member).reduce((cells, each) => cells + cellCount(each.type), 0);
}

/** Returns the scalar type of a scalar, vector, matrix or atomic type. */
export function scalarOf(type: Type): ScalarType {
  const scalar = elementScalar(type.kind === "atomic" ? type.element : type);
  if (!scalar) throw new TypeError(`a ${type.kind} has no scalar type`);
  return scalar;
}

/** Returns true for f32 and f16. */
export function isFloat(type: Type): boolean {
  return type.kind === "scalar" && (type.name === "f32" || type.name === "f16");
}

/** Returns a position that is further by a constant, or by an atom times a constant. */
export function moved(at: Position, by: number | string, times = 1): Position {
  if (typeof by === "number") return { ...at, constant: at.constant + by * times };
  return { ...at, atoms: [...at.atoms, times === 1 ? by : `${by} * ${times}`] };
}

/** Returns the expression of a position. */
export function positionText({ constant, atoms }: Position): string {
  if (atoms.length === 0) return String(constant);
  return constant === 0 ? atoms.join(" + ") : `${atoms.join(" + ")} + ${constant}`;
}

/**
 * The types of WGSL (specification section "Types"), as values. Scalars and samplers are shared
 * objects.
 */
import type { Expression, StructDeclaration } from "./ast.ts";

export type ScalarName = "bool" | "i32" | "u32" | "f32" | "f16" | "abstract-int" | "abstract-float";
export type AddressSpace =
  | "function"
  | "private"
  | "workgroup"
  | "uniform"
  | "storage"
  | "handle"
  | "immediate";
export type AccessMode = "read" | "write" | "read_write";

export interface ScalarType {
  readonly kind: "scalar";
  readonly name: ScalarName;
}
export interface VectorType {
  readonly kind: "vector";
  readonly size: 2 | 3 | 4;
  readonly element: ScalarType;
}
export interface MatrixType {
  readonly kind: "matrix";
  readonly columns: 2 | 3 | 4;
  readonly rows: 2 | 3 | 4;
  readonly element: ScalarType;
}
export interface ArrayType {
  readonly kind: "array";
  readonly element: Type;
  /**
   * Element count: a number, `"runtime"` for a runtime-sized array, `"override"` when an override
   * decides it.
   */
  readonly count: number | "runtime" | "override";
  /** For `"override"`: the printed count expression, which tells two such types apart. */
  readonly countText?: string;
  /** For `"override"`: the count expression itself, so that the type can be written again. */
  readonly countExpression?: Expression;
}
export interface StructMemberType {
  readonly name: string;
  readonly type: Type;
  /** From `@align` and `@size`, bytes. */
  readonly align?: number;
  readonly size?: number;
}
export interface StructType {
  readonly kind: "struct";
  readonly name: string;
  readonly members: readonly StructMemberType[];
  /** Absent for the result structs of `frexp`, `modf` and `atomicCompareExchangeWeak`. */
  readonly declaration?: StructDeclaration;
}
export interface AtomicType {
  readonly kind: "atomic";
  readonly element: ScalarType;
}
export interface PointerType {
  readonly kind: "pointer";
  readonly space: AddressSpace;
  readonly store: Type;
  readonly access: AccessMode;
}
/** The type of an expression that denotes memory; the load rule turns it into `store`. */
export interface ReferenceType {
  readonly kind: "reference";
  readonly space: AddressSpace;
  readonly store: Type;
  readonly access: AccessMode;
}
export interface TextureType {
  readonly kind: "texture";
  /**
   * The type's name without its template list: `texture_2d`, `texture_storage_3d`,
   * `texture_depth_cube`.
   */
  readonly name: string;
  /** Sampled type, for sampled and multisampled textures. */
  readonly sampled?: ScalarType;
  /** For storage textures. */
  readonly format?: string;
  readonly access?: AccessMode;
}
export interface SamplerType {
  readonly kind: "sampler";
  readonly comparison: boolean;
}
/** The result of a call without a value. */
export interface VoidType {
  readonly kind: "void";
}
export type Type =
  | ScalarType
  | VectorType
  | MatrixType
  | ArrayType
  | StructType
  | AtomicType
  | PointerType
  | ReferenceType
  | TextureType
  | SamplerType
  | VoidType;

const scalar = (name: ScalarName): ScalarType => ({ kind: "scalar", name });
export const boolType = scalar("bool");
export const i32Type = scalar("i32");
export const u32Type = scalar("u32");
export const f32Type = scalar("f32");
export const f16Type = scalar("f16");
export const abstractIntType = scalar("abstract-int");
export const abstractFloatType = scalar("abstract-float");
export const voidType: VoidType = { kind: "void" };

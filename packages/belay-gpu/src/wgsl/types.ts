/**
 * The types of WGSL as values. Scalars and samplers are shared objects. Source: WGSL specification,
 * "Types".
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
   * The element count: a number, `"runtime"` for a runtime-sized array, or `"override"` if an
   * override decides it.
   */
  readonly count: number | "runtime" | "override";
  /** The printed count expression if `count` is `"override"`. It distinguishes two such types. */
  readonly countText?: string;
  /** The count expression itself if `count` is `"override"`, to write the type again. */
  readonly countExpression?: Expression;
}
export interface StructMemberType {
  readonly name: string;
  readonly type: Type;
  /** The argument of `@align`, in bytes. */
  readonly align?: number;
  /** The argument of `@size`, in bytes. */
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
/** The type of an expression that denotes memory. The load rule turns it into `store`. */
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
  /** The sampled type of sampled and multisampled textures. */
  readonly sampled?: ScalarType;
  /** The texel format of storage textures. */
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

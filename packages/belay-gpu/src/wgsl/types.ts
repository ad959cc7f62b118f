/**
 * The types of WGSL as values. Scalars and samplers are shared objects. Source: WGSL specification,
 * "Types".
 */
import type { Expression, StructDeclaration } from "./ast.ts";

/** The name of a scalar type. */
export type ScalarName = "bool" | "i32" | "u32" | "f32" | "f16" | "abstract-int" | "abstract-float";
/** An address space; `"handle"` is that of textures and samplers. */
export type AddressSpace =
  | "function"
  | "private"
  | "workgroup"
  | "uniform"
  | "storage"
  | "handle"
  | "immediate";
/** An access mode of memory. */
export type AccessMode = "read" | "write" | "read_write";

/** A scalar type. */
export interface ScalarType {
  readonly kind: "scalar";
  /** The name of the type. */
  readonly name: ScalarName;
}
/** A vector type. */
export interface VectorType {
  readonly kind: "vector";
  /** The number of components. */
  readonly size: 2 | 3 | 4;
  /** The type of a component. */
  readonly element: ScalarType;
}
/** A matrix type. */
export interface MatrixType {
  readonly kind: "matrix";
  /** The number of columns. */
  readonly columns: 2 | 3 | 4;
  /** The number of rows. */
  readonly rows: 2 | 3 | 4;
  /** The type of an element. */
  readonly element: ScalarType;
}
/** An array type. */
export interface ArrayType {
  readonly kind: "array";
  /** The type of an element. */
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
/** A member of a structure type. */
export interface StructMemberType {
  /** The name in the source. */
  readonly name: string;
  /** The type. */
  readonly type: Type;
  /** The argument of `@align`, in bytes. */
  readonly align?: number;
  /** The argument of `@size`, in bytes. */
  readonly size?: number;
}
/** A structure type. */
export interface StructType {
  readonly kind: "struct";
  /** The name of the type. */
  readonly name: string;
  /** The members, in order. */
  readonly members: readonly StructMemberType[];
  /** Absent for the result structs of `frexp`, `modf` and `atomicCompareExchangeWeak`. */
  readonly declaration?: StructDeclaration;
}
/** An atomic type. */
export interface AtomicType {
  readonly kind: "atomic";
  /** The type of the value: `i32`, `u32` or `vec2<u32>`. */
  readonly element: ScalarType | VectorType;
}
/** A pointer type. */
export interface PointerType {
  readonly kind: "pointer";
  /** The address space of the memory. */
  readonly space: AddressSpace;
  /** The type of the memory. */
  readonly store: Type;
  /** The allowed accesses. */
  readonly access: AccessMode;
}
/** The type of an expression that denotes memory. The load rule turns it into `store`. */
export interface ReferenceType {
  readonly kind: "reference";
  /** The address space of the memory. */
  readonly space: AddressSpace;
  /** The type of the memory. */
  readonly store: Type;
  /** The allowed accesses. */
  readonly access: AccessMode;
}
/** A texture type. */
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
  /** The allowed accesses to storage textures. */
  readonly access?: AccessMode;
}
/** A sampler type. */
export interface SamplerType {
  readonly kind: "sampler";
  /** True for `sampler_comparison`. */
  readonly comparison: boolean;
}
/** An array of textures that are bound together. */
export interface BindingArrayType {
  readonly kind: "bindingArray";
  /** The type of an element. */
  readonly element: TextureType;
  /** The element count. */
  readonly count: number;
}
/** The type of memory that a program accesses through typed views only. */
export interface BufferType {
  readonly kind: "buffer";
  /** The number of bytes; `"runtime"` if the binding decides it. */
  readonly size: number | "runtime";
}
/** A matrix that the invocations of a subgroup hold together. */
export interface SubgroupMatrixType {
  readonly kind: "subgroupMatrix";
  /** The side of a multiplication on which the matrix may stand. */
  readonly side: "left" | "right" | "result";
  /** The name of the component type: f32, f16, i32, u32, i8 or u8. */
  readonly component: string;
  /** The number of columns. */
  readonly columns: number;
  /** The number of rows. */
  readonly rows: number;
}
/** The result of a call without a value. */
export interface VoidType {
  readonly kind: "void";
}
/** A type of WGSL. */
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
  | BindingArrayType
  | BufferType
  | SubgroupMatrixType
  | VoidType;

const scalar = (name: ScalarName): ScalarType => ({ kind: "scalar", name });
/** The type `bool`. */
export const boolType = scalar("bool");
/** The type `i32`. */
export const i32Type = scalar("i32");
/** The type `u32`. */
export const u32Type = scalar("u32");
/** The type `f32`. */
export const f32Type = scalar("f32");
/** The type `f16`. */
export const f16Type = scalar("f16");
/** The type of integer literals without a suffix. */
export const abstractIntType = scalar("abstract-int");
/** The type of float literals without a suffix. */
export const abstractFloatType = scalar("abstract-float");
/** The result of a call without a value. */
export const voidType: VoidType = { kind: "void" };

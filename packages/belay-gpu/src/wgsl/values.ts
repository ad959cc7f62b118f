/**
 * Constant values, the results of const-expressions. The JavaScript representation below is exact
 * for the numbers of every scalar type.
 */
import type { ArrayType, MatrixType, ScalarType, StructType, VectorType } from "./types.ts";

/** A value of a scalar type. */
export interface ScalarValue {
  /** The scalar type. */
  readonly type: ScalarType;
  /**
   * The value: a boolean for bool, a bigint in the 64-bit range for abstract-int, and a number for
   * i32, u32, f32, f16 and abstract-float.
   */
  readonly value: boolean | bigint | number;
}
/**
 * A composite value. Its elements in order are vector components, matrix columns, array elements or
 * struct members.
 */
export interface CompositeValue {
  /** The composite type. */
  readonly type: VectorType | MatrixType | ArrayType | StructType;
  /** The elements, in order. */
  readonly elements: readonly Value[];
}
/** The value of a const-expression. */
export type Value = ScalarValue | CompositeValue;

/**
 * Constant values (const-expressions). Numbers of every scalar type are exact in the JS
 * representation below.
 */
import type { ArrayType, MatrixType, ScalarType, StructType, VectorType } from "./types.ts";

/** A value of a scalar type. */
export interface ScalarValue {
  readonly type: ScalarType;
  /**
   * bool: boolean. abstract-int: bigint (64-bit range). i32, u32, f32, f16, abstract-float: number.
   */
  readonly value: boolean | bigint | number;
}
/**
 * Elements in order: vector components, matrix columns (vectors), array elements, struct members.
 */
export interface CompositeValue {
  readonly type: VectorType | MatrixType | ArrayType | StructType;
  readonly elements: readonly Value[];
}
/** The value of a const-expression. */
export type Value = ScalarValue | CompositeValue;

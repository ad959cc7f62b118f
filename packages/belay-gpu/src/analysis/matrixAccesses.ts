/** Finds loads and stores of subgroup matrices, and the numbers in memory that they touch. */
import type { CallExpression, Expression } from "../wgsl/ast.ts";
import { sizeOf, strideOf } from "../wgsl/layout.ts";
import type { Program } from "../wgsl/program.ts";
import { type AddressSpace, type ScalarType, type Type, u32Type } from "../wgsl/types.ts";
import { builtinFunction } from "./effects.ts";

/** One load or store of a whole matrix. */
export interface MatrixAccess {
  readonly call: CallExpression;
  readonly kind: "load" | "store";
  readonly space: AddressSpace;
  readonly isReadOnly: boolean;
  /** The array, as a pointer to it. */
  readonly pointer: Expression;
  /** The numbers in memory; undefined if drafts of the language disagree about them. */
  readonly layout: MatrixLayout | undefined;
  /** The index of the first element, and the distance of two runs. */
  readonly offset: Expression;
  readonly stride: Expression;
}

/** The elements of an array that a matrix occupies. */
export interface MatrixLayout {
  /** The type of the array's elements, or of the words of vectors. */
  readonly element: ScalarType;
  /**
   * The words of each vector in an array of vectors, with the padding of `vec3`, which a matrix may
   * cover. Undefined for an array of scalars.
   */
  readonly words?: number;
  /** The elements or words that lie next to each other, and the number of such runs. */
  readonly length: number;
  readonly runs: number;
  /** True if a run is a column of the matrix, and false if it is a row. */
  readonly isByColumns: boolean;
}

const bytes: Readonly<Record<string, number>> = { f32: 4, i32: 4, u32: 4, f16: 2, i8: 1, u8: 1 };

/** Returns the access that a call makes, or undefined for any other call. */
export function matrixAccess(program: Program, expression: Expression): MatrixAccess | undefined {
  if (expression.kind !== "call") return undefined;
  const name = builtinFunction(program, expression);
  if (name !== "subgroupMatrixLoad" && name !== "subgroupMatrixStore") return undefined;
  const [pointer, offset, stored] = [expression.args[0]!, expression.args[1]!, expression.args[2]!];
  const isLoad = name === "subgroupMatrixLoad";
  const type = program.typeOf(pointer);
  const matrix = isLoad ? program.typeOf(expression) : program.valueTypeOf(stored);
  if (type.kind !== "pointer") throw new Error("a matrix is in memory that a pointer points to");
  return {
    call: expression,
    kind: isLoad ? "load" : "store",
    space: type.space,
    isReadOnly: type.access === "read",
    pointer,
    layout: layoutOf(program, expression, type.store, matrix),
    offset,
    stride: expression.args.at(-1)!,
  };
}

/**
 * Returns the layout of a matrix in an array. The order is the last template argument, or in an
 * earlier draft the last argument but one. That draft counts 8-bit numbers one by one.
 */
function layoutOf(
  program: Program,
  { callee, args }: CallExpression,
  memory: Type,
  matrix: Type,
): MatrixLayout | undefined {
  if (memory.kind !== "array" || matrix.kind !== "subgroupMatrix") return undefined;
  const isOfVectors = memory.element.kind === "vector";
  const element = memory.element.kind === "scalar" ? memory.element : isOfVectors ? u32Type : undefined;
  if (!element) return undefined;
  const order = callee.kind === "identifier" ? callee.templateArgs?.at(-1) : undefined;
  const isNamed = order?.kind === "identifier" && order.name.endsWith("_major");
  const flag = isNamed ? undefined : program.constantOf(args.at(-2)!);
  const isByColumns = isNamed ? order.name === "col_major" : flag && "value" in flag && flag.value;
  if (typeof isByColumns !== "boolean") return undefined;
  const [minor, runs] = isByColumns ? [matrix.rows, matrix.columns] : [matrix.columns, matrix.rows];
  const each = bytes[matrix.component]!;
  const length = (minor * each) / sizeOf(element);
  if (!Number.isInteger(length) || ((each === 1 || isOfVectors) && !isNamed)) return undefined;
  return {
    element,
    length,
    runs,
    isByColumns,
    ...(isOfVectors && { words: strideOf(memory) / sizeOf(element) }),
  };
}

/** The bytes before the numbers of a matrix in workgroup memory, and the alignment of both. */
const alignment = 16;

/** Returns the bytes of workgroup memory for accesses, which has one struct for each type. */
export function stagedBytes(accesses: readonly MatrixAccess[]): number {
  const sizes = new Map<string, number>();
  for (const { layout } of accesses) {
    if (!layout) continue;
    const { element, length, runs } = layout;
    sizes.set(element.name, Math.max(sizes.get(element.name) ?? 0, length * runs * sizeOf(element)));
  }
  const structs = [...sizes.values()].map((size) => alignment * (1 + Math.ceil(size / alignment)));
  return structs.reduce((sum, size) => sum + size, 0);
}

/**
 * Returns true if other code has to see each number that an access touches. This holds for a store
 * to a buffer, and for a load from a buffer that kernels may change.
 */
export const needsStaging = ({ space, kind, isReadOnly }: MatrixAccess): boolean =>
  space === "storage" && (kind === "store" || !isReadOnly);

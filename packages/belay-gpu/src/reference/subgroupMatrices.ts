/**
 * Writes the operations on subgroup matrices. The first invocation of each subgroup holds all of a
 * matrix, and the others none of it. WGSL demands that all of them reach an operation, with the
 * same arguments.
 *
 * Sums in the matrix units of a GPU are rounded in ways of their own, so that no intervals are
 * known.
 */
import { builtinFunction } from "../analysis/effects.ts";
import { matrixAccess } from "../analysis/matrixAccesses.ts";
import type { CallExpression } from "../wgsl/ast.ts";
import { sameType, scalarTypes } from "../wgsl/conversion.ts";
import type { Program } from "../wgsl/program.ts";
import type { ArrayType, ScalarName, SubgroupMatrixType, Type } from "../wgsl/types.ts";
import type { CodeWriter } from "./codeWriter.ts";
import type { MatrixOperations, Operations, SumProducts } from "./library.ts";
import type { FloatOperation } from "./nearest.ts";
import { Unsupported } from "./unsupported.ts";
import {
  type CellsPlace,
  type CellsValue,
  type EmittedValue,
  isFloat,
  positionText,
  type ScalarsValue,
  scalarOf,
} from "./values.ts";

export const subgroupMatrices: MatrixOperations = { isOperation, emit, library };

function isOperation(program: Program, call: CallExpression): boolean {
  if (builtinFunction(program, call)?.startsWith("subgroupMatrix")) return true;
  const isConstructor = program.targetOf(call.callee)?.kind !== "function";
  return isConstructor && program.valueTypeOf(call).kind === "subgroupMatrix";
}

function emit(
  code: CodeWriter,
  program: Program,
  call: CallExpression,
  args: readonly EmittedValue[],
): CellsValue | undefined {
  const { name } = call.callee;
  const type = program.valueTypeOf(call);
  const result = type.kind === "subgroupMatrix" ? newMatrix(code, type) : undefined;
  code.line("if (P[0] === 0) {");
  if (name === "subgroupMatrixStore") emitAccess(code, program, call, args, matrixOf(args[2]));
  else if (name === "subgroupMatrixLoad") emitAccess(code, program, call, args, result!.place);
  else if (name.startsWith("subgroupMatrixScalar")) emitScaling(code, name, args, result!.value);
  else if (name.startsWith("subgroupMatrix")) emitProduct(code, call, args, result!.value);
  else emitConstructor(code, args[0], result!.value);
  code.line("}");
  return result?.value;
}

/** Emits a matrix whose elements are all one number, or zero. */
function emitConstructor(
  code: CodeWriter,
  number: EmittedValue | undefined,
  { type, place }: CellsValue,
): void {
  const [filling] =
    number?.kind === "scalars" ? number.scalars : code.zero(scalarOf(elementType(place))).scalars;
  eachElement(code, type as SubgroupMatrixType, (i) => code.storeScalar(elementOf(code, place, i), filling!));
}

/** Returns the array that holds a matrix, row by row. Integers of 8 bits are wider there. */
function rowsOf({ component, columns, rows }: SubgroupMatrixType): ArrayType {
  const element = scalarTypes[component.replace(/^([iu])8$/, "$132") as ScalarName];
  return { kind: "array", element, count: columns * rows };
}

function newMatrix(code: CodeWriter, type: SubgroupMatrixType): { value: CellsValue; place: CellsPlace } {
  const place = code.reserve("invocation", rowsOf(type));
  return { value: { kind: "cells", type, place }, place };
}

/** Returns the cells of a matrix as those of an array. */
function matrixOf(value: EmittedValue | undefined): CellsPlace {
  if (value?.kind !== "cells" || value.type.kind !== "subgroupMatrix") throw new TypeError("no matrix");
  return { ...value.place, type: rowsOf(value.type) };
}

const elementType = ({ type }: CellsPlace): Type => (type as ArrayType).element;

const elementOf = (code: CodeWriter, place: CellsPlace, index: string) =>
  code.elementOf(place, place.type as ArrayType, index);

/** Emits a loop over the elements of a matrix. */
function eachElement(code: CodeWriter, type: SubgroupMatrixType, body: (index: string) => void): void {
  const i = code.fresh("i");
  code.line(`for (let ${i} = 0; ${i} < ${type.rows * type.columns}; ${i}++) {`);
  body(i);
  code.line("}");
}

/** Emits a load or a store of a matrix. */
function emitAccess(
  code: CodeWriter,
  program: Program,
  call: CallExpression,
  args: readonly EmittedValue[],
  matrix: CellsPlace,
): void {
  const { name } = call.callee;
  const access = matrixAccess(program, call);
  const [pointer] = args;
  if (!access?.layout || pointer?.kind !== "pointer" || pointer.place.type.kind !== "array")
    throw new Unsupported(name, call.span);
  const { place } = pointer;
  const { runs, length, isByColumns } = access.layout;
  const array = pointer.place.type;
  if (!sameType(array.element, elementType(matrix)))
    throw new Unsupported(`${name} of packed numbers`, call.span);
  const [[offset]] = (args[1] as ScalarsValue).scalars as [string[]];
  const [[stride]] = (args.at(-1) as ScalarsValue).scalars as [string[]];
  const [run, i] = [code.fresh("i"), code.fresh("i")];
  code.line(
    `for (let ${run} = 0; ${run} < ${runs}; ${run}++) for (let ${i} = 0; ${i} < ${length}; ${i}++) {`,
  );
  const inMemory = code.elementOf(place, array, code.temp(`${offset} + ${run} * ${stride} + ${i}`));
  const at = isByColumns ? `${i} * ${runs} + ${run}` : `${run} * ${length} + ${i}`;
  const inMatrix = elementOf(code, matrix, code.temp(at));
  const [to, from] = access.kind === "load" ? [inMatrix, inMemory] : [inMemory, inMatrix];
  code.storeScalar(to, code.loadScalar(from));
  code.line("}");
}

/** Emits an operation on each element of a matrix and a number. */
function emitScaling(
  code: CodeWriter,
  name: string,
  [operand, number]: readonly EmittedValue[],
  { type, place }: CellsValue,
): void {
  const matrix = matrixOf(operand);
  const operation = ({ Add: "add", Subtract: "sub", Multiply: "mul" } as const)[
    name.slice("subgroupMatrixScalar".length) as "Add" | "Subtract" | "Multiply"
  ] satisfies FloatOperation;
  eachElement(code, type as SubgroupMatrixType, (i) => {
    const from = elementOf(code, matrix, i);
    const [by] = (number as ScalarsValue).scalars as [string[]];
    code.storeScalar(
      elementOf(code, place, i),
      code.float(scalarOf(from.type), operation, code.loadScalar(from), by),
    );
  });
}

/** Emits a product of two matrices, which may be added to a third. */
function emitProduct(
  code: CodeWriter,
  call: CallExpression,
  args: readonly EmittedValue[],
  { type, place }: CellsValue,
): void {
  const { columns, rows } = type as SubgroupMatrixType;
  const [left, right] = [matrixOf(args[0]), matrixOf(args[1])];
  const { element } = rowsOf(type as SubgroupMatrixType);
  if (!isFloat(element)) throw new Unsupported(`${call.callee.name} of integers`, call.span);
  const terms = (args[0] as CellsValue).type as SubgroupMatrixType;
  const places = [left, right, args[2] ? matrixOf(args[2]) : undefined, place].map((each) =>
    each ? positionText(each.at) : "-1",
  );
  const multiply = code.library(`${scalarOf(element).name}_multiplyMatrices`);
  code.line(`${multiply}(P, ${[...places, rows, columns, terms.columns].join(", ")});`);
}

function library(operations: Operations): Readonly<Record<string, unknown>> {
  const add = operations.add as (a: number, b: number) => number;
  const multiply = operations.mul as (a: number, b: number) => number;
  const sumProducts: SumProducts =
    operations.sumProducts ??
    ((sum, left, right) => Array.from(left).reduce((all, x, k) => add(all, multiply(x, right[k]!)), sum));
  /**
   * Multiplies two matrices, which are in `cells` row by row, from `left` and `right` on. Adds the
   * one from `sums` on, if that is not negative.
   */
  const multiplyMatrices = (
    cells: Float64Array,
    left: number,
    right: number,
    sums: number,
    result: number,
    rows: number,
    columns: number,
    terms: number,
  ) => {
    const column = (n: number) =>
      Float64Array.from({ length: terms }, (_, k) => cells[right + k * columns + n]!);
    const all = Array.from({ length: columns }, (_, n) => column(n));
    for (let m = 0; m < rows; m++) {
      const row = cells.slice(left + m * terms, left + (m + 1) * terms);
      for (const [n, each] of all.entries()) {
        const at = m * columns + n;
        cells[result + at] = sumProducts(sums < 0 ? 0 : cells[sums + at]!, row, each);
      }
    }
  };
  return { multiplyMatrices };
}

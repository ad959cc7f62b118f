/** The layout of the two copies of a workgroup variable. */
import { chainOf, dimensionsOf } from "../../analysis/elementwiseArrays.ts";
import type { Declaration, Expression, GlobalVariable } from "../../wgsl/ast.ts";
import { alignOf, sizeOf, strideOf } from "../../wgsl/layout.ts";
import { quote } from "../../wgsl/quote.ts";
import { typeExpressionOf } from "../../wgsl/typeNames.ts";
import type { ArrayType, Type } from "../../wgsl/types.ts";
import type { Names } from "../shared/names.ts";
import type { Pairing } from "./pairing.ts";

/** The declarations of both copies, and the rewrite of accesses to them. */
export interface WorkgroupCopies {
  readonly declarations: readonly Declaration[];
  /**
   * Returns the access to the copy of `replica`. Returns undefined if `part` is not the part of an
   * access that changes.
   */
  copy(part: Expression, replica: string): Expression | undefined;
}

/** The bytes of half of the 32 banks of workgroup memory, of 4 bytes each. */
const halfBanks = 64;
/** The bytes of all banks. */
const allBanks = 128;

/**
 * Returns the most bytes that both copies of a variable of a type take. Paired copies of elements
 * take less, because they need no skew.
 */
export function bytesOfCopies(type: Type, pairing: Pairing): number {
  const align = alignOf(type);
  return 2 * Math.ceil(copyStride(sizeOf(type), pairing) / align) * align;
}

/**
 * Returns the bytes from one copy of a variable of `size` bytes to the next. Lanes of one subgroup
 * must not access the same bank, unless they belong to one replica. Small variables need no skew.
 */
function copyStride(size: number, pairing: Pairing): number {
  return size < allBanks || pairing === "subgroups"
    ? Math.ceil(size / 4) * 4
    : Math.ceil((size - halfBanks) / allBanks) * allBanks + halfBanks;
}

/**
 * Returns copies of each element side by side, for an array of which only elements are accessed.
 *
 * Lanes that access different banks of the original still do, whatever its size. Side by side also
 * takes less time than a skew, except if a compiler does not load neighbors at once. On an NVIDIA
 * H200 noise took 2.01 times as long instead of 2.85, the matrix product 2.54 instead of 1.83.
 */
export function pairedCopies(variable: GlobalVariable, type: ArrayType): WorkgroupCopies {
  const paired = (part: Type): ArrayType =>
    part.kind === "array"
      ? { ...part, element: paired(part.element) }
      : { kind: "array", element: part, count: 2 };
  return {
    declarations: quote(variable.span)
      .declarations`var<workgroup> ${variable.name}: ${typeExpressionOf(paired(type))};`,
    copy: (part, replica) => {
      const { indices } = chainOf(part);
      if (indices.length !== dimensionsOf(type)) return undefined;
      const { expression } = quote(part.span);
      const element = indices.reduce(
        (base, index) => expression`${base}[${index}]`,
        expression`${variable.name}`,
      );
      return expression`${element}[${replica}]`;
    },
  };
}

/** Returns two copies in an array of structs. A member of the struct makes the skew. */
export function structCopies(
  names: Names,
  variable: GlobalVariable,
  type: Type,
  pairing: Pairing,
): WorkgroupCopies {
  const struct = names.fresh("Copy");
  const { declarations } = quote(variable.span);
  const skew = (copyStride(sizeOf(type), pairing) - sizeOf(type)) >> 2;
  const copies = declarations`
    struct ${struct} { value: ${typeExpressionOf(type)}${skew > 0 ? `, skew: array<u32, ${skew}>` : ""} }
    var<workgroup> ${variable.name}: array<${struct}, 2>;`;
  return {
    declarations: copies,
    copy: (expression: Expression, replica: string) =>
      expression.kind === "identifier"
        ? quote(expression.span).expression`${variable.name}[${replica}].value`
        : undefined,
  };
}

/**
 * Returns one array in which the second copy follows the first, for a size that an override
 * decides.
 */
export function flatCopies(
  names: Names,
  variable: GlobalVariable,
  type: ArrayType,
  pairing: Pairing,
): WorkgroupCopies {
  const count = `u32(${type.countText})`;
  const row = allBanks / strideOf(type);
  const isSkewed = row > 1 && Number.isInteger(row) && pairing !== "subgroups";
  const skew = `select(0u, (${row * 1.5}u - ${count} % ${row}u) % ${row}u, ${count} >= ${row}u)`;
  const stride = names.fresh("stride");
  const { declarations } = quote(variable.span);
  const copies = declarations`
    override ${stride}: u32 = ${isSkewed ? `${count} + ${skew}` : count};
    var<workgroup> ${variable.name}: array<${typeExpressionOf(type.element)}, 2u * ${stride}>;`;
  return {
    declarations: copies,
    // The index stays within its copy, as it did within the array: an index out of bounds selects
    // the last element.
    copy: (expression: Expression, replica: string) =>
      expression.kind === "index" && expression.base.kind === "identifier"
        ? quote(expression.span)
            .expression`${variable.name}[min(u32(${expression.index}), ${count} - 1u) + ${replica} * ${stride}]`
        : undefined,
  };
}

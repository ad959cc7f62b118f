/**
 * Computes the layout of values in memory, in bytes. Source: WGSL specification, "Memory Layout".
 */
import type { ArrayType, ScalarType, StructType, Type } from "./types.ts";

interface StructLayout {
  readonly align: number;
  readonly size: number;
  readonly offsets: readonly number[];
}

/**
 * The layout of each struct type. Structs nest, so laying each out once keeps the work linear in
 * the program.
 */
const structLayouts = new WeakMap<StructType, StructLayout>();

function roundUp(to: number, value: number): number {
  return Math.ceil(value / to) * to;
}

function scalarSize(type: ScalarType): number {
  if (type.name.startsWith("abstract")) throw new TypeError(`${type.name} has no memory layout`);
  return type.name === "f16" ? 2 : 4;
}

function layoutOf(type: StructType): StructLayout {
  const known = structLayouts.get(type);
  if (known !== undefined) return known;
  const offsets: number[] = [];
  let [align, end] = [1, 0];
  for (const member of type.members) {
    const memberAlign = member.align ?? alignOf(member.type);
    const offset = roundUp(memberAlign, end);
    offsets.push(offset);
    align = Math.max(align, memberAlign);
    end = offset + (member.size ?? sizeOf(member.type));
  }
  const layout = { align, size: roundUp(align, end), offsets };
  structLayouts.set(type, layout);
  return layout;
}

/** Returns the alignment of a type (AlignOf in the specification). */
export function alignOf(type: Type): number {
  switch (type.kind) {
    case "scalar":
      return scalarSize(type);
    case "atomic":
      return alignOf(type.element);
    case "buffer":
      return 16;
    case "vector":
      return scalarSize(type.element) * (type.size === 2 ? 2 : 4);
    case "matrix":
      return scalarSize(type.element) * (type.rows === 2 ? 2 : 4);
    case "array":
      return alignOf(type.element);
    case "struct":
      return layoutOf(type).align;
    default:
      throw new TypeError(`a ${type.kind} has no memory layout`);
  }
}

/**
 * Returns the size of a type with its padding (SizeOf). An array without a known element count
 * counts as 0 bytes.
 */
export function sizeOf(type: Type): number {
  switch (type.kind) {
    case "scalar":
      return scalarSize(type);
    case "atomic":
      return sizeOf(type.element);
    case "buffer":
      return type.size === "runtime" ? 0 : type.size;
    case "vector":
      return scalarSize(type.element) * type.size;
    case "matrix":
      return alignOf(type) * type.columns;
    case "array":
      return typeof type.count === "number" ? strideOf(type) * type.count : 0;
    case "struct":
      return layoutOf(type).size;
    default:
      throw new TypeError(`a ${type.kind} has no memory layout`);
  }
}

/**
 * Returns the size of a type with its padding. An array without a known element count has
 * `elements` elements.
 */
export function sizeWith(type: Type, elements: number): number {
  if (type.kind === "array" && type.count === "runtime") return strideOf(type) * elements;
  const last = type.kind === "struct" ? type.members.at(-1)!.type : undefined;
  if (type.kind !== "struct" || last?.kind !== "array" || last.count !== "runtime") return sizeOf(type);
  return roundUp(alignOf(type), memberOffsets(type).at(-1)! + strideOf(last) * elements);
}

/** Returns the distance from one element's first byte to the next one's (StrideOf). */
export function strideOf(type: ArrayType): number {
  return roundUp(alignOf(type.element), sizeOf(type.element));
}

/** Returns the offset of each member in order (OffsetOfMember). */
export function memberOffsets(type: StructType): readonly number[] {
  return layoutOf(type).offsets;
}

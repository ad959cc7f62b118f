/**
 * Where the parts of a value stand in memory (specification section "Memory Layout"). All numbers
 * are bytes.
 */
import type { ArrayType, ScalarType, StructType, Type, VectorType } from "./types.ts";

interface StructLayout {
  readonly align: number;
  readonly size: number;
  readonly offsets: readonly number[];
}

/** Struct types nest, so laying each out once keeps the work linear in the program. */
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

/** AlignOf: what a value's first byte offset is a multiple of. */
export function alignOf(type: Type): number {
  switch (type.kind) {
    case "scalar":
      return scalarSize(type);
    case "atomic":
      return scalarSize(type.element);
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

/** SizeOf, with padding. An array whose element count is not known yet counts nothing. */
export function sizeOf(type: Type): number {
  switch (type.kind) {
    case "scalar":
      return scalarSize(type);
    case "atomic":
      return scalarSize(type.element);
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

/** StrideOf: from one element's first byte to the next one's. */
export function strideOf(type: ArrayType): number {
  return roundUp(alignOf(type.element), sizeOf(type.element));
}

/** OffsetOfMember, for each member in order. */
export function memberOffsets(type: StructType): readonly number[] {
  return layoutOf(type).offsets;
}

/**
 * The indices of the 4-byte words that hold data, in ascending order; the words left out are
 * padding. A word that is partly data counts as data. An array whose element count is not known yet
 * has the words of one element.
 */
export function* dataWords(type: Type): Generator<number, void> {
  let next = 0;
  for (const [start, end] of dataRanges(type, 0)) {
    next = Math.max(next, Math.floor(start / 4));
    for (; next * 4 < end; next++) yield next;
  }
}

/** The byte ranges, half-open and ascending, that hold data of a value placed at `offset`. */
function* dataRanges(type: Type, offset: number): Generator<readonly [start: number, end: number], void> {
  switch (type.kind) {
    case "matrix": {
      const column: VectorType = { kind: "vector", size: type.rows, element: type.element };
      for (let i = 0; i < type.columns; i++) yield* dataRanges(column, offset + i * alignOf(type));
      break;
    }
    case "array": {
      const count = typeof type.count === "number" ? type.count : 1;
      for (let i = 0; i < count; i++) yield* dataRanges(type.element, offset + i * strideOf(type));
      break;
    }
    case "struct":
      for (const [i, member] of type.members.entries()) {
        yield* dataRanges(member.type, offset + memberOffsets(type)[i]!);
      }
      break;
    default:
      yield [offset, offset + sizeOf(type)];
  }
}

/**
 * Values of host-shareable types, composed of the words of granules and decomposed into them, as
 * WGSL.
 */
import { memberOffsets, sizeOf, strideOf } from "../../wgsl/layout.ts";
import { printType } from "../../wgsl/printer.ts";
import { typeExpressionOf } from "../../wgsl/typeNames.ts";
import type { ArrayType, MatrixType, StructType, Type, VectorType } from "../../wgsl/types.ts";
import { alignmentOf, type ByteOffset, indexed, inUnits, moved } from "./byteOffset.ts";

/** The code with which functions over granules are written. */
export interface GranuleCode {
  readonly granuleBytes: number;
  /** Returns WGSL that loads the granule with this number. */
  load(granule: string): string;
  /** Returns a statement that stores to the granule with this number. */
  store(granule: string, data: string): string;
  /** Returns a name that the function does not contain yet. */
  fresh(base: string): string;
}

/** The size above which arrays are accessed in loops. */
const mostUnrolledBytes = 256;

export const typeText = (type: Type): string => printType(typeExpressionOf(type));
const letters = "xyzw";

/** A part of an aggregate, and its byte offset. */
interface Part {
  readonly type: Type;
  readonly offset: number;
}

/** Returns the parts that a constructor of the type takes; undefined for scalars and vectors. */
export function partsOf(type: Type): Part[] | undefined {
  if (type.kind === "matrix") {
    const stride = strideOf({ kind: "array", element: columnOf(type), count: type.columns });
    return Array.from({ length: type.columns }, (_, i) => ({ type: columnOf(type), offset: i * stride }));
  }
  if (type.kind === "struct") {
    const offsets = memberOffsets(type);
    return type.members.map((member, i) => ({ type: member.type, offset: offsets[i]! }));
  }
  if (type.kind !== "array") return undefined;
  const stride = strideOf(type);
  return Array.from({ length: Number(type.count) }, (_, i) => ({ type: type.element, offset: i * stride }));
}

const columnOf = (type: MatrixType): VectorType => ({
  kind: "vector",
  size: type.rows,
  element: type.element,
});

/** Returns true if an array is accessed in a loop. */
export const isLong = (type: ArrayType): boolean => sizeOf(type) > mostUnrolledBytes;

/** Returns WGSL for part `i` of `value`. */
export function partOf(value: string, type: MatrixType | StructType | ArrayType, i: number): string {
  return type.kind === "struct" ? `${value}.${type.members[i]!.name}` : `${value}[${i}]`;
}

/** A load of values. It collects the statements that must run first. */
export class ValueReader {
  readonly statements: string[] = [];
  readonly #code: GranuleCode;
  /** The names of loaded granules, by number. */
  readonly #granules = new Map<string, string>();

  constructor(code: GranuleCode) {
    this.#code = code;
  }

  /** Returns an expression for the value of a type at an address. */
  value(type: Type, address: ByteOffset): string {
    if (type.kind === "array" && isLong(type)) return this.#longArray(type, address);
    const parts = partsOf(type);
    if (parts)
      return `${typeText(type)}(${parts.map((part) => this.value(part.type, moved(address, part.offset))).join(", ")})`;
    const element = type.kind === "vector" ? type.element : type;
    const count = type.kind === "vector" ? type.size : 1;
    if (element.kind === "scalar" && element.name === "f16") return this.#halves(count, address);
    const words = this.words(count, address);
    return element.kind === "scalar" && element.name === "u32"
      ? words
      : `bitcast<${typeText(type)}>(${words})`;
  }

  /** Returns `count` words from an address on, as a `u32` or a vector. */
  words(count: number, address: ByteOffset): string {
    const granuleWords = this.#code.granuleBytes / 4;
    if (this.#isKnown(address)) {
      const first = (address.at % this.#code.granuleBytes) / 4;
      if (first + count <= granuleWords) {
        const granule = this.#granule(inUnits(address, this.#code.granuleBytes));
        return count === granuleWords ? granule : `${granule}.${letters.slice(first, first + count)}`;
      }
    } else if (4 * count <= alignmentOf(address, this.#code.granuleBytes) && address.at % (4 * count) === 0) {
      const byte = this.#let("byte", inUnits(address, 1));
      const granule = this.#granule(`${byte} / ${this.#code.granuleBytes}u`);
      const half = (of: string, bit: number) =>
        `select(${granule}.${of.slice(0, of.length / 2)}, ${granule}.${of.slice(of.length / 2)}, (${byte} & ${bit}u) != 0u)`;
      if (2 * count === granuleWords) return half(letters.slice(0, granuleWords), 4 * count);
      return `select(${half("xy", 4)}, ${half("zw", 4)}, (${byte} & 8u) != 0u)`;
    }
    const each = Array.from({ length: count }, (_, i) => this.words(1, moved(address, 4 * i)));
    return `vec${count}<u32>(${each.join(", ")})`;
  }

  #halves(count: number, address: ByteOffset): string {
    const pair = (at: ByteOffset) => `bitcast<vec2<f16>>(${this.words(1, at)})`;
    if (count > 1) {
      const pairs = [pair(address), ...(count > 2 ? [pair(moved(address, 4))] : [])];
      const all = pairs.length === 1 ? pairs[0]! : `vec4<f16>(${pairs.join(", ")})`;
      return count === 3 ? `${all}.xyz` : all;
    }
    if (alignmentOf(address, 4) === 4) {
      const inWord = address.at % 4;
      return `${pair(moved(address, -inWord))}.${letters[inWord / 2]}`;
    }
    const byte = this.#let("byte", inUnits(address, 1));
    const word = this.#let("word", this.words(1, { terms: [{ index: `(${byte} / 4u)`, stride: 4 }], at: 0 }));
    return `select(bitcast<vec2<f16>>(${word}).x, bitcast<vec2<f16>>(${word}).y, (${byte} & 2u) != 0u)`;
  }

  #longArray(type: ArrayType, address: ByteOffset): string {
    const [array, i] = [this.#code.fresh("array"), this.#code.fresh("i")];
    const body = new ValueReader(this.#code);
    const element = body.value(type.element, indexed(address, i, strideOf(type)));
    this.statements.push(
      `var ${array}: ${typeText(type)};`,
      `for (var ${i} = 0u; ${i} < ${type.count}u; ${i}++) { ${body.statements.join(" ")} ${array}[${i}] = ${element}; }`,
    );
    return array;
  }

  /** Returns true if the position of the address in its granule is known at compile time. */
  #isKnown(address: ByteOffset): boolean {
    return alignmentOf(address, this.#code.granuleBytes) === this.#code.granuleBytes;
  }

  #granule(number: string): string {
    const known = this.#granules.get(number);
    if (known) return known;
    const name = this.#let("granule", this.#code.load(number));
    this.#granules.set(number, name);
    return name;
  }

  #let(base: string, value: string): string {
    const name = this.#code.fresh(base);
    this.statements.push(`let ${name} = ${value};`);
    return name;
  }
}

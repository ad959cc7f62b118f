import { strideOf } from "../../wgsl/layout.ts";
import type { ArrayType, Type } from "../../wgsl/types.ts";
import { type ByteOffset, indexed, inUnits, moved } from "./byteOffset.ts";
import { type GranuleCode, isLong, partOf, partsOf } from "./wordValues.ts";

/** The value stored to a word: all of it, or halves. */
type StoredWord = string | { readonly low?: string; readonly high?: string };

const letters = "xyzw";

/**
 * A store of values to granules. The values fill all words that hold data; the rest is padding and
 * keeps its contents.
 */
export class ValueWriter {
  readonly statements: string[] = [];
  readonly #code: GranuleCode;
  readonly #terms: ByteOffset["terms"];
  /** The stored words, by their index after the terms of the address. */
  readonly #words = new Map<number, StoredWord>();

  /** Starts a store whose addresses all have `terms`, which are multiples of granules. */
  constructor(code: GranuleCode, terms: ByteOffset["terms"]) {
    this.#code = code;
    this.#terms = terms;
  }

  /**
   * Stores `value` at the known offset `at` after the terms. `value` is an expression that may be
   * evaluated again.
   */
  put(type: Type, at: number, value: string): void {
    if (type.kind === "array" && isLong(type)) {
      this.#putLongArray(type, at, value);
      return;
    }
    const parts = partsOf(type);
    if (parts && (type.kind === "struct" || type.kind === "array" || type.kind === "matrix")) {
      for (const [i, part] of parts.entries()) this.put(part.type, at + part.offset, partOf(value, type, i));
      return;
    }
    const element = type.kind === "vector" ? type.element : type;
    const each =
      type.kind === "vector"
        ? Array.from({ length: type.size }, (_, i) => `${value}.${letters[i]}`)
        : [value];
    if (element.kind !== "scalar") throw new Error(`a ${type.kind} is not stored`);
    if (element.name === "f16") {
      for (const [i, half] of each.entries()) this.#putHalf(at + 2 * i, half);
    } else if (type.kind === "vector") {
      const words = this.#let("words", `bitcast<vec${type.size}<u32>>(${value})`);
      for (const i of each.keys()) this.#words.set(at / 4 + i, `${words}.${letters[i]}`);
    } else {
      this.#words.set(at / 4, element.name === "u32" ? value : `bitcast<u32>(${value})`);
    }
  }

  /** Returns the statements that store, with those that write the granules. */
  finish(): string[] {
    const size = this.#code.granuleBytes / 4;
    const granules = new Set([...this.#words.keys()].map((word) => Math.floor(word / size)));
    for (const granule of granules) this.#storeGranule(granule, size);
    return this.statements;
  }

  #storeGranule(granule: number, size: number): void {
    const number = inUnits({ terms: this.#terms, at: granule * 4 * size }, 4 * size);
    const stored = Array.from({ length: size }, (_, i) => this.#words.get(granule * size + i));
    const isWhole = stored.every((word) => typeof word === "string");
    const old = isWhole ? "" : this.#let("old", this.#code.load(number));
    const words = stored.map((word, i) => completed(word, size === 1 ? old : `${old}.${letters[i]}`));
    this.statements.push(this.#code.store(number, size === 1 ? words[0]! : vectorOf(words)));
  }

  #putHalf(at: number, half: string): void {
    const before = this.#words.get(Math.floor(at / 4));
    const others = typeof before === "object" ? before : {};
    this.#words.set(Math.floor(at / 4), at % 4 === 0 ? { ...others, low: half } : { ...others, high: half });
    const both = this.#words.get(Math.floor(at / 4));
    if (typeof both === "object" && both.low && both.high)
      this.#words.set(Math.floor(at / 4), `bitcast<u32>(vec2<f16>(${both.low}, ${both.high}))`);
  }

  /**
   * Stores an array in a loop. Each iteration stores as many elements as fill whole granules.
   * Elements before and after them are stored one by one.
   */
  #putLongArray(type: ArrayType, at: number, value: string): void {
    const stride = strideOf(type);
    const count = Number(type.count);
    const { first, chunk } = chunksOf(type, at, this.#code.granuleBytes)!;
    const turns = Math.floor((count - first) / chunk);
    const end = first + turns * chunk;
    const put = (i: number) => this.put(type.element, at + i * stride, `${value}[${i}]`);
    for (let i = 0; i < first; i++) put(i);
    const turn = this.#code.fresh("i");
    const address = indexed({ terms: this.#terms, at: at + first * stride }, turn, chunk * stride);
    const body = new ValueWriter(this.#code, address.terms);
    for (let i = 0; i < chunk; i++)
      body.put(type.element, moved(address, i * stride).at, `${value}[${turn} * ${chunk}u + ${first + i}u]`);
    this.statements.push(
      `for (var ${turn} = 0u; ${turn} < ${turns}u; ${turn}++) { ${body.finish().join(" ")} }`,
    );
    for (let i = end; i < count; i++) put(i);
  }

  #let(base: string, value: string): string {
    const name = this.#code.fresh(base);
    this.statements.push(`let ${name} = ${value};`);
    return name;
  }
}

/**
 * Returns the first element of an array at `at` that starts a granule, and the number of elements
 * that fill whole granules. Returns undefined if no element does.
 */
export function chunksOf(
  type: ArrayType,
  at: number,
  granuleBytes: number,
): { first: number; chunk: number } | undefined {
  const stride = strideOf(type);
  const aligned = stride & -stride;
  const chunk = Math.max(1, granuleBytes / aligned);
  for (let first = 0; first < chunk; first++)
    if ((at + first * stride) % granuleBytes === 0) return { first, chunk };
  return undefined;
}

/** Returns a whole word, with the old bits in halves that are not stored. */
function completed(word: StoredWord | undefined, old: string): string {
  if (word === undefined) return old;
  if (typeof word === "string") return word;
  const { low = `bitcast<vec2<f16>>(${old}).x`, high = `bitcast<vec2<f16>>(${old}).y` } = word;
  return `bitcast<u32>(vec2<f16>(${low}, ${high}))`;
}

/** Returns words as a vector. Components of one vector become its swizzle. */
function vectorOf(words: readonly string[]): string {
  const [name] = words[0]!.split(".");
  const swizzle = words
    .map((word) => (word.startsWith(`${name}.`) ? word.slice(name!.length + 1) : "?"))
    .join("");
  return /^[xyzw]+$/.test(swizzle) ? `${name}.${swizzle}` : `vec${words.length}<u32>(${words.join(", ")})`;
}

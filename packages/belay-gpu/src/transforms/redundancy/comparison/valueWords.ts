/**
 * Values as the replicas compare them: 32-bit words, exact for scalars and vectors, hashed for
 * composites.
 */
import type { Expression } from "../../../wgsl/ast.ts";
import { printType } from "../../../wgsl/printer.ts";
import { quote } from "../../../wgsl/quote.ts";
import { typeExpressionOf } from "../../../wgsl/typeNames.ts";
import type { ScalarName, Type } from "../../../wgsl/types.ts";
import type { CheckSite } from "../reportBuffer.ts";
import type { Library } from "./library.ts";

/** A value as 32-bit words: an expression of type `u32` (one word) or `vecN<u32>`. */
export interface Words {
  readonly expression: Expression;
  readonly count: 1 | 2 | 3 | 4;
  readonly scalar: CheckSite["scalar"];
}

export const wordType = (count: Words["count"]): string => (count === 1 ? "u32" : `vec${count}<u32>`);

/** The value that `name` denotes, as words. */
export function valueWords(library: Library, name: string, type: Type): Words {
  const { text, count, scalar } = wordsText(library, name, type);
  return { expression: quote().expression`${text}`, count, scalar };
}

function wordsText(library: Library, name: string, type: Type): WordsText {
  const words = bitsText(library, name, type);
  const isFloat = words.scalar === "f32" || words.scalar === "f16";
  return library.isCanonical && isFloat
    ? { ...words, text: `${canonical(library, words.scalar, words.count)}(${words.text})` }
    : words;
}

type WordsText = Omit<Words, "expression"> & { readonly text: string };

/**
 * A function that returns the bits of floats, but the same bits for each NaN, and for both zeros.
 * Implementations may ignore the sign of a zero, such as when they turn x - (y - z) into
 * x + (z - y).
 */
function canonical(library: Library, scalar: "f32" | "f16", count: Words["count"]): string {
  const type = wordType(count);
  const words = (bits: string) => `${type}(${bits}u)`;
  /** Replaces a float, in the bits of a mask, if its magnitude is beyond infinity or zero. */
  const replace = (mask: string, magnitude: string, infinity: string, nan: string) =>
    `bits = select(bits, (bits & ~${words(mask)}) | ${words(nan)}, (bits & ${words(magnitude)}) > ${words(infinity)});
     bits = select(bits, bits & ~${words(mask)}, (bits & ${words(magnitude)}) == ${words("0")});`;
  const body =
    scalar === "f32"
      ? replace("0xffffffff", "0x7fffffff", "0x7f800000", "0x7fc00000")
      : `${replace("0xffff", "0x7fff", "0x7c00", "0x7e00")}
         ${replace("0xffff0000", "0x7fff0000", "0x7c000000", "0x7e000000")}`;
  return library.once(
    `canonical${count}_${scalar}`,
    (name) => `fn ${name}(words: ${type}) -> ${type} { var bits = words; ${body} return bits; }`,
  );
}

function bitsText(library: Library, name: string, type: Type): WordsText {
  if (type.kind === "scalar")
    return { text: scalarWord(name, type.name), count: 1, scalar: comparable(type.name) };
  if (type.kind !== "vector")
    return { text: `${hashFunction(library, type)}(${name})`, count: 1, scalar: "hash" };
  const { size, element } = type;
  if (element.name === "f16") {
    const even = size === 3 ? `vec4<f16>(${name}, 0h)` : name;
    return {
      text: `bitcast<${size === 2 ? "u32" : "vec2<u32>"}>(${even})`,
      count: size === 2 ? 1 : 2,
      scalar: "f16",
    };
  }
  const conversion = element.name === "bool" ? `vec${size}<u32>` : `bitcast<vec${size}<u32>>`;
  return { text: `${conversion}(${name})`, count: size, scalar: comparable(element.name) };
}

/** `hash` with all of `words` folded in. */
export function fold(library: Library, hash: Expression, words: Words): Expression {
  const each = foldFunction(library, words.count);
  return quote(words.expression.span).expression`${each}(${hash}, ${words.expression})`;
}

/** WGSL text of `hash` with each of `words` folded in. */
export function foldText(library: Library, hash: string, words: readonly string[]): string {
  const one = foldFunction(library, 1);
  return words.reduce((text, word) => `${one}(${text}, ${word})`, hash);
}

/**
 * The function that folds words into a hash. Bijective in the hash and in each word, so one
 * differing word always shows.
 *
 * Each word comes in as a product, which spreads a difference upwards. A difference in the top bit
 * stays there, and the next such one would cancel it: a rotation of the hash moves it down first.
 * Products of words that follow each other are added to rotations only. This takes little longer
 * than words as they are. The first product is added to a product of the hash. Otherwise, words
 * that swap places 32 words apart would not show. Up to four rotations stand between products of
 * the hash. They are by five bits, so that no sum of them takes a difference back to the top. The
 * factors are odd: the multiplier of the generator PCG, and 2³² divided by the golden ratio.
 */
function foldFunction(library: Library, count: Words["count"]): string {
  const rotated = "((hash << 5u) | (hash >> 27u))";
  const first = library.once(
    "fold",
    (name) => `
    fn ${name}(hash: u32, word: u32) -> u32 { return ${rotated} * 0x9e3779b1u + word * 0x2c9277b5u; }`,
  );
  if (count === 1) return first;
  const next = library.once(
    "append",
    (name) => `
    fn ${name}(hash: u32, word: u32) -> u32 { return ${rotated} + word * 0x2c9277b5u; }`,
  );
  const others = ["words.y", "words.z", "words.w"].slice(0, count - 1);
  const folded = others.reduce((hash, word) => `${next}(${hash}, ${word})`, `${first}(hash, words.x)`);
  return library.once(
    `fold${count}`,
    (name) => `
    fn ${name}(hash: u32, words: ${wordType(count)}) -> u32 { return ${folded}; }`,
  );
}

/** A function that hashes a struct, array or matrix, member by member. */
function hashFunction(library: Library, type: Type): string {
  const text = printType(typeExpressionOf(type));
  const fold = (member: string, memberType: Type) => {
    const words = wordsText(library, member, memberType);
    return `hash = ${foldFunction(library, words.count)}(hash, ${words.text});`;
  };
  const body = () => {
    if (type.kind === "struct") return type.members.map((m) => fold(`value.${m.name}`, m.type)).join(" ");
    if (type.kind === "matrix") {
      const column = { kind: "vector", size: type.rows, element: type.element } as const;
      return Array.from({ length: type.columns }, (_, i) => fold(`value[${i}]`, column)).join(" ");
    }
    if (type.kind === "array" && typeof type.count === "number") {
      return `for (var i = 0u; i < ${type.count}u; i++) { ${fold("value[i]", type.element)} }`;
    }
    throw new Error(`a ${type.kind} is never stored as a whole`);
  };
  return library.once(
    `hash of ${text}`,
    (name) => `fn ${name}(value: ${text}) -> u32 { var hash = 0u; ${body()} return hash; }`,
    () => library.names.fresh("hash"),
  );
}

function scalarWord(name: string, type: ScalarName): string {
  switch (type) {
    case "u32":
      return name;
    case "bool":
      return `u32(${name})`;
    case "f16":
      return `bitcast<u32>(vec2<f16>(${name}, 0h))`;
    default:
      return `bitcast<u32>(${name})`;
  }
}

const comparable = (name: ScalarName): CheckSite["scalar"] => {
  if (name === "abstract-int" || name === "abstract-float")
    throw new Error("a stored value has a concrete type");
  return name;
};

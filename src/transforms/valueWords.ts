/** Values as the replicas compare them: 32-bit words, exact for scalars and vectors, hashed for composites. */
import type { Declaration, Expression } from "../wgsl/ast.ts";
import { printExpression, printType } from "../wgsl/printer.ts";
import { quote } from "../wgsl/quote.ts";
import { typeExpressionOf } from "../wgsl/typeNames.ts";
import type { ScalarName, Type } from "../wgsl/types.ts";
import type { Names } from "./names.ts";
import type { CheckSite } from "./reportBuffer.ts";

/** A value as 32-bit words: an expression of type `u32` (one word) or `vecN<u32>`. */
export interface Words {
  readonly expression: Expression;
  readonly count: 1 | 2 | 3 | 4;
  readonly scalar: CheckSite["scalar"];
}

export const wordType = (count: Words["count"]): string => (count === 1 ? "u32" : `vec${count}<u32>`);

/** Writes values as words; the hash functions that this takes are emitted once each. */
export class WordWriter {
  readonly #names: Names;
  readonly #hashes = new Map<string, string>();
  #pending: Declaration[] = [];

  constructor(names: Names) {
    this.#names = names;
  }

  takeDeclarations(): Declaration[] {
    const declarations = this.#pending;
    this.#pending = [];
    return declarations;
  }

  /** The value that `name` denotes, as words. */
  of(name: string, type: Type): Words {
    const { text, count, scalar } = this.#text(name, type);
    return { expression: quote().expression`${text}`, count, scalar };
  }

  #text(name: string, type: Type): { text: string; count: Words["count"]; scalar: CheckSite["scalar"] } {
    if (type.kind === "scalar")
      return { text: scalarWord(name, type.name), count: 1, scalar: comparable(type.name) };
    if (type.kind === "vector") {
      const { size, element } = type;
      if (element.name === "f16") {
        const four = size === 3 ? `vec4<f16>(${name}, 0h)` : name;
        return {
          text: `bitcast<${size === 2 ? "u32" : "vec2<u32>"}>(${four})`,
          count: size === 2 ? 1 : 2,
          scalar: "f16",
        };
      }
      const conversion = element.name === "bool" ? `vec${size}<u32>` : `bitcast<vec${size}<u32>>`;
      return { text: `${conversion}(${name})`, count: size, scalar: comparable(element.name) };
    }
    return { text: `${this.#hash(type)}(${name})`, count: 1, scalar: "hash" };
  }

  /** `hash` with all words of `words` folded in. */
  fold(hash: Expression, words: Words): Expression {
    const fold = this.#fold();
    const { expression } = quote(words.expression.span);
    if (words.count === 1) return expression`${fold}(${hash}, ${words.expression})`;
    const each = this.#once(
      `fold${words.count}`,
      (name) => `
      fn ${name}(hash: u32, words: ${wordType(words.count)}) -> u32 {
        return ${this.foldText(
          "hash",
          ["x", "y", "z", "w"].slice(0, words.count).map((c) => `words.${c}`),
        )};
      }`,
    );
    return expression`${each}(${hash}, ${words.expression})`;
  }

  /** WGSL text of `hash` with each of `words` folded in. */
  foldText(hash: string, words: readonly string[]): string {
    const fold = this.#fold();
    return words.reduce((text, word) => `${fold}(${text}, ${word})`, hash);
  }

  /**
   * Folds a word into a hash. Bijective in both, so one differing word always shows; the rotation carries a
   * difference in the top bits, which a product alone would keep there, down to where the next product spreads it.
   */
  #fold(): string {
    return this.#once(
      "fold",
      (name) => `
      fn ${name}(hash: u32, word: u32) -> u32 {
        let product = (hash ^ word) * 0x9e3779b1u;
        return (product << 13u) | (product >> 19u);
      }`,
    );
  }

  /** A function that hashes a struct, array or matrix, member by member. */
  #hash(type: Type): string {
    const text = printType(typeExpressionOf(type));
    const known = this.#hashes.get(text);
    if (known) return known;
    const name = this.#names.fresh("hash");
    this.#hashes.set(text, name);
    const fold = (member: string, memberType: Type) => {
      const words = this.#text(member, memberType);
      return `hash = ${this.#foldAny(words.text, words.count)};`;
    };
    let body: string;
    if (type.kind === "struct") body = type.members.map((m) => fold(`value.${m.name}`, m.type)).join(" ");
    else if (type.kind === "matrix") {
      const column = { kind: "vector", size: type.rows, element: type.element } as const;
      body = Array.from({ length: type.columns }, (_, i) => fold(`value[${i}]`, column)).join(" ");
    } else if (type.kind === "array" && typeof type.count === "number") {
      body = `for (var i = 0u; i < ${type.count}u; i++) { ${fold("value[i]", type.element)} }`;
    } else throw new Error(`a ${type.kind} is never stored as a whole`);
    this.#emit(`fn ${name}(value: ${text}) -> u32 { var hash = 0u; ${body} return hash; }`);
    return name;
  }

  #foldAny(words: string, count: Words["count"]): string {
    const folded = this.fold(quote().expression`hash`, {
      expression: quote().expression`${words}`,
      count,
      scalar: "hash",
    });
    return printExpression(folded);
  }

  #once(thing: string, wgsl: (name: string) => string): string {
    const name = this.#names.the(thing);
    if (!this.#hashes.has(name)) {
      this.#hashes.set(name, name);
      this.#emit(wgsl(name));
    }
    return name;
  }

  #emit(wgsl: string): void {
    this.#pending.push(...quote().declarations`${wgsl}`);
  }
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

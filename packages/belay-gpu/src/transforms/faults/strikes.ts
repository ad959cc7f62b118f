/** The WGSL functions that strike words, and the calls of them at sites. */
import type { Expression, Module, Statement } from "../../wgsl/ast.ts";
import { printType } from "../../wgsl/printer.ts";
import { quote } from "../../wgsl/quote.ts";
import { typeExpressionOf } from "../../wgsl/typeNames.ts";
import type { ScalarType, Type, VectorType } from "../../wgsl/types.ts";
import type { Names } from "../shared/names.ts";
import type { Trigger } from "./armedTrigger.ts";

/** A type whose words can be struck. */
export type StrikeableType = ScalarType | VectorType;

export function isStrikeable(type: Type): type is StrikeableType {
  const element = type.kind === "vector" ? type.element : type;
  return element.kind === "scalar" && ["u32", "i32", "f32"].includes(element.name);
}

const [axes, numbers] = [
  ["x", "y", "z", "w"],
  ["0u", "1u", "2u", "3u"],
];

/** Returns the number of 32-bit words of a value. */
export const componentsOf = (type: StrikeableType): number => (type.kind === "vector" ? type.size : 1);

/** The striking functions of one module, declared after their first call. */
export class Strikes {
  readonly #names: Names;
  readonly #trigger: Trigger;
  readonly #called = new Set<string>();
  /** The called functions that are not declared yet. */
  readonly #pending: string[] = [];
  #isDeclared = false;

  constructor(names: Names, trigger: Trigger) {
    this.#names = names;
    this.#trigger = trigger;
  }

  /** The statement that begins an entry point. */
  get before(): Statement[] {
    return quote().statements`${this.#names.the("aim")}();`;
  }

  /** The statement that ends an entry point. */
  get after(): Statement[] {
    return quote().statements`${this.#names.the("settle")}();`;
  }

  /** Returns `value`, struck if the fault at `site` is due. */
  value(site: number, type: StrikeableType, value: Expression): Expression {
    return quote(value.span).expression`${this.#strike("strike", type)}(${`${site}u`}, ${value})`;
  }

  /**
   * Returns a value that was loaded from a line of its variable, struck if the fault at `site` is
   * due.
   */
  load(site: number, type: StrikeableType, line: string, value: Expression): Expression {
    const strike = this.#strike("strike_load", type);
    return quote(value.span).expression`${strike}(${`${site}u`}, ${line}, ${value})`;
  }

  condition(site: number, condition: Expression): Expression {
    const name = this.#declare(
      "branch",
      (name) => `
      fn ${name}(site: u32, condition: bool) -> bool {
        return (${this.#strike("strike", { kind: "scalar", name: "u32" })}(site, u32(condition)) & 1u) != 0u;
      }`,
    );
    return quote(condition.span).expression`${name}(${`${site}u`}, ${condition})`;
  }

  /** Returns a statement that is skipped if the fault at `site` is due. */
  statement(site: number, [first, ...others]: readonly [Statement, ...Statement[]]): Statement {
    const { statements } = quote(first.span);
    const isHit = `${this.#names.the("is_hit")}(${site}u)`;
    return statements`if (!${isHit}) { ${[first, ...others]} }`[0]!;
  }

  /** Returns statements that strike the word of an atomic operation after the operation. */
  atomic(site: number, type: ScalarType, place: Expression): Statement[] {
    const n = (thing: string) => this.#names.the(thing);
    const pointer = () => quote(place.span).expression`&${structuredClone(place)}`;
    const bits = (word: string) => `bitcast<${type.name}>(${word})`;
    return quote(place.span).statements`
      if (${n("is_hit")}(${`${site}u`})) {
        ${n("struck")} = bitcast<u32>(atomicLoad(${pointer()}));
        atomicAnd(${pointer()}, ${bits(`~${n("struck_clear")}`)});
        atomicXor(${pointer()}, ${bits(n("struck_mask"))});
      }`;
  }

  /**
   * Returns the statement that leaves a loop after too many iterations. If `together`, all lanes of
   * a subgroup leave it with the first.
   */
  limit(together: boolean): Statement[] {
    const isSpent = `${this.#names.the("is_spent")}()`;
    return quote().statements`if (${together ? `subgroupAny(${isSpent})` : isSpent}) { break; }`;
  }

  /**
   * Returns the module with all functions called so far declared. `sites` is the number of sites so
   * far.
   */
  declareIn(module: Module, sites: number): Module {
    const { declarations, siteCount } = this.#trigger;
    const count = siteCount ? quote().declarations`${siteCount(sites)}` : [];
    const counted = new Set(count.map((declaration) => "name" in declaration && declaration.name));
    const text = [...(this.#isDeclared ? [] : [declarations]), ...this.#pending.splice(0)];
    this.#isDeclared = true;
    const kept = module.declarations.filter((d) => !("name" in d && counted.has(d.name)));
    return { ...module, declarations: [...kept, ...count, ...quote().declarations`${text.join("\n")}`] };
  }

  #strike(stem: "strike" | "strike_load", type: StrikeableType): string {
    const n = (thing: string) => this.#names.the(thing);
    const text = printType(typeExpressionOf(type));
    const [line, isHit] =
      stem === "strike" ? ["", `${n("is_hit")}(site)`] : ["line: u32, ", `${n("is_hit_in")}(site, line)`];
    const components = componentsOf(type);
    const words = components === 1 ? "u32" : `vec${components}<u32>`;
    const flipped = `(words & ${words}(~${n("struck_clear")})) ^ ${words}(${n("struck_mask")})`;
    // A vector is struck in one component.
    const [hits, struck] =
      components === 1
        ? ["hit", "words"]
        : [
            `(${words}(${numbers.slice(0, components)}) == ${words}(${n("struck_component")})) & vec${components}<bool>(hit)`,
            axes
              .slice(0, components)
              .map((axis) => `select(0u, words.${axis}, hits.${axis})`)
              .join(" | "),
          ];
    return this.#declare(
      `${stem}_${text.replace(/\W/g, "")}`,
      (name) => `
      fn ${name}(site: u32, ${line}value: ${text}) -> ${text} {
        let words = bitcast<${words}>(value);
        let hit = ${isHit};
        let hits = ${hits};
        ${n("struck")} = select(${n("struck")}, ${struck}, hit);
        return bitcast<${text}>(select(words, ${flipped}, hits));
      }`,
    );
  }

  #declare(thing: string, text: (name: string) => string): string {
    const name = this.#names.the(thing);
    if (!this.#called.has(name)) this.#pending.push(text(name));
    this.#called.add(name);
    return name;
  }
}

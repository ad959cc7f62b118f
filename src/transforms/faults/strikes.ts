/** The functions of WGSL that strike words, as the sites call them. */
import type { Expression, Module, Statement } from "../../wgsl/ast.ts";
import { printType } from "../../wgsl/printer.ts";
import { quote } from "../../wgsl/quote.ts";
import { typeExpressionOf } from "../../wgsl/typeNames.ts";
import type { ScalarType, Type, VectorType } from "../../wgsl/types.ts";
import type { Names } from "../names.ts";
import type { Trigger } from "./trigger.ts";

/** A type whose words can be struck. */
export type StrikeableType = ScalarType | VectorType;

export function isStrikeable(type: Type): type is StrikeableType {
  const element = type.kind === "vector" ? type.element : type;
  return element.kind === "scalar" && ["u32", "i32", "f32"].includes(element.name);
}

/** 32-bit words of a value. */
export const componentsOf = (type: StrikeableType): number => (type.kind === "vector" ? type.size : 1);

/** Makes calls of the functions that strike, and declares those that were called. */
export class Strikes {
  readonly #names: Names;
  readonly #trigger: Trigger;
  readonly #called = new Set<string>();
  /** Functions that were called and are yet to be declared. */
  readonly #pending: string[] = [];
  #isDeclared = false;

  constructor(names: Names, trigger: Trigger) {
    this.#names = names;
    this.#trigger = trigger;
  }

  /** What an entry point does first. */
  enter(): Statement[] {
    return quote().statements`${this.#names.the("aim")}();`;
  }

  /** `value`, struck when the fault at `site` is due. */
  value(site: number, type: StrikeableType, value: Expression): Expression {
    return quote(value.span).expression`${this.#strike("strike", type)}(${`${site}u`}, ${value})`;
  }

  /** A value that is loaded from a line of its variable. */
  load(site: number, type: StrikeableType, line: string, value: Expression): Expression {
    const strike = this.#strike("strike_load", type);
    return quote(value.span).expression`${strike}(${`${site}u`}, ${line}, ${value})`;
  }

  condition(site: number, condition: Expression): Expression {
    const name = this.#declare(
      "branch",
      (name) => `
      fn ${name}(site: u32, condition: bool) -> bool {
        var word = u32(condition);
        if (${this.#names.the("is_hit")}(site)) { word = ${this.#names.the("struck")}(word); }
        return (word & 1u) != 0u;
      }`,
    );
    return quote(condition.span).expression`${name}(${`${site}u`}, ${condition})`;
  }

  /** A statement, skipped when the fault at `site` is due. */
  statement(site: number, [first, ...others]: readonly [Statement, ...Statement[]]): Statement {
    const { statements } = quote(first.span);
    const isHit = `${this.#names.the("is_hit")}(${site}u)`;
    return statements`if (!${isHit}) { ${[first, ...others]} }`[0]!;
  }

  /** Strikes a word of memory that atomic operations are executed on, once one has been. */
  atomic(site: number, type: ScalarType, place: Expression): Statement[] {
    const n = (thing: string) => this.#names.the(thing);
    const pointer = () => quote(place.span).expression`&${structuredClone(place)}`;
    const bits = (word: string) => `bitcast<${type.name}>(${word})`;
    return quote(place.span).statements`
      if (${n("is_hit")}(${`${site}u`})) {
        _ = ${n("struck")}(bitcast<u32>(atomicLoad(${pointer()})));
        atomicAnd(${pointer()}, ${bits(`~${n("report")}.armed_clear`)});
        atomicXor(${pointer()}, ${bits(`${n("report")}.armed_mask`)});
      }`;
  }

  /** Leaves a loop that seems to have no end. */
  limit(): Statement[] {
    return quote().statements`if (${this.#names.the("is_spent")}()) { break; }`;
  }

  /** The module with what was called so far declared; it has so many sites now. */
  declareIn(module: Module, sites: number): Module {
    const { declarations, siteCount } = this.#trigger;
    const count = siteCount ? quote().declarations`${siteCount(sites)}` : [];
    const counted = new Set(count.map((declaration) => "name" in declaration && declaration.name));
    const text = [...(this.#isDeclared ? [] : [declarations, this.#struck()]), ...this.#pending.splice(0)];
    this.#isDeclared = true;
    const kept = module.declarations.filter((d) => !("name" in d && counted.has(d.name)));
    return { ...module, declarations: [...kept, ...count, ...quote().declarations`${text.join("\n")}`] };
  }

  #struck(): string {
    const report = this.#names.the("report");
    return `
      fn ${this.#names.the("struck")}(word: u32) -> u32 {
        ${report}.struck = word;
        return (word & ~${report}.armed_clear) ^ ${report}.armed_mask;
      }`;
  }

  #strike(stem: "strike" | "strike_load", type: StrikeableType): string {
    const text = printType(typeExpressionOf(type));
    const components = componentsOf(type);
    const words = components === 1 ? "u32" : `vec${components}<u32>`;
    const isLoad = stem === "strike_load";
    const isHit = isLoad
      ? `${this.#names.the("is_hit_in")}(site, line)`
      : `${this.#names.the("is_hit")}(site)`;
    const report = this.#names.the("report");
    const word = components === 1 ? "words" : `words[min(${report}.armed_component, ${components - 1}u)]`;
    return this.#declare(
      `${stem}_${text.replace(/\W/g, "")}`,
      (name) => `
      fn ${name}(site: u32, ${isLoad ? "line: u32, " : ""}value: ${text}) -> ${text} {
        var words = bitcast<${words}>(value);
        if (${isHit}) { ${word} = ${this.#names.the("struck")}(${word}); }
        return bitcast<${text}>(words);
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

import { type Place, placeOf } from "../../analysis/places.ts";
import { checksumWgsl } from "../../ecc/checksum.ts";
import type { Expression, FunctionDeclaration, Statement } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, mapChildren } from "../../wgsl/traverse.ts";
import type { Names } from "../shared/names.ts";
import { type ByteOffset, indexed, inUnits, moved } from "./byteOffset.ts";
import { typedSteps } from "./coverage.ts";
import type { GeneratedDeclarations } from "./generatedDeclarations.ts";
import { wordsIn } from "./summedAccesses.ts";
import { typeText } from "./wordValues.ts";

/** An access whose words are added to a sum. */
interface SummedAccess {
  readonly kind: "load" | "store";
  /** The number of the access's class. */
  readonly number: number;
  /** True if places are counted. */
  readonly isCounted: boolean;
}

/** The summed accesses of a kernel. */
export class AccessSums {
  readonly #program: Program;
  readonly #names: Names;
  readonly #library: GeneratedDeclarations;
  /** The names of functions, by their text after the name. */
  readonly #functions = new Map<string, string>();
  readonly #seen = new Map<Expression, SummedAccess>();

  constructor(program: Program, names: Names, library: GeneratedDeclarations) {
    this.#program = program;
    this.#names = names;
    this.#library = library;
  }

  /** Adds an access, to be rewritten by `function`. */
  see(expression: Expression, access: SummedAccess): void {
    this.#seen.set(expression, access);
  }

  /** Returns a function with its summed accesses rewritten. */
  function(fn: FunctionDeclaration): FunctionDeclaration {
    const visit = (node: AnyNode): AnyNode => {
      if (node.kind === "assign" && node.target && this.#seen.get(node.target)?.kind === "store")
        return this.#store(node, visit);
      const seen = this.#seen.get(node as Expression);
      if (seen?.kind === "load") {
        const { name, indices } = this.#access(node as Expression, visit);
        return quote(node.span).expression`${name}(${indices})`;
      }
      return mapChildren(node, visit);
    };
    return { ...fn, body: mapChildren(fn.body, visit) };
  }

  #store({ target, value, span }: Extract<Statement, { kind: "assign" }>, visit: (node: AnyNode) => AnyNode) {
    const { name, indices } = this.#access(target!, visit);
    const [statement] = quote(span).statements`${name}(${[...indices, visit(value) as Expression]});`;
    return statement!;
  }

  /** Returns the function of an access, and the indices that are its arguments. */
  #access(expression: Expression, visit: (node: AnyNode) => AnyNode) {
    const { kind, number, isCounted } = this.#seen.get(expression)!;
    const place = placeOf(this.#program, expression)!;
    const { path, address, indices } = this.#open(place);
    const words = wordsIn(place);
    const type = typeText(place.type);
    const value = this.#names.the("value");
    const data = words === 1 ? "u32" : `vec${words}<u32>`;
    const added = `${this.#prefix()}${{ 1: "word", 2: "pair", 4: "quad" }[words]}(${inUnits(address, words === 4 ? 16 : 4)}, bitcast<${data}>(${value}))`;
    const sum = this.sum(place.variable.name, number, isCounted);
    const add = `${sum} += ${added}${isCounted ? "" : ".xy"};`;
    const parameters = indices.map((_, i) => `${this.#index(i)}: u32`);
    const [signature, body] =
      kind === "load"
        ? [`(${parameters.join(", ")}) -> ${type}`, `let ${value} = ${path}; ${add} return ${value};`]
        : [`(${[...parameters, `${value}: ${type}`].join(", ")})`, `${path} = ${value}; ${add}`];
    const text = `${signature} { ${body} }`;
    const name = this.#functions.get(text) ?? this.#names.fresh(`summed_${kind}`);
    this.#functions.set(text, name);
    this.#library.make(name, () => quote().declarations`fn ${name}${text}`);
    const args = indices.map((index) => quote(index.span).expression`u32(${visit(index) as Expression})`);
    return { name, indices: args };
  }

  /**
   * Returns a place as a function names it, its address, and the indices that the function takes.
   */
  #open(place: Place) {
    let path = place.variable.name;
    let address: ByteOffset = { terms: [], at: 0 };
    const indices: Expression[] = [];
    for (const { step } of typedSteps(this.#program, place)) {
      if (step.kind === "member") {
        path += `.${step.name}`;
        address = moved(address, step.offset);
        continue;
      }
      const name = this.#index(indices.push(step.index) - 1);
      path += `[${name}]`;
      address = indexed(address, name, step.stride);
    }
    return { path, address, indices };
  }

  /** Returns the name of an index. No buffer of the program has such a name. */
  #index(i: number): string {
    return this.#names.the(`index_${i + 1}`);
  }

  /** Returns the variable of the sums of a class of accesses. */
  sum(variable: string, number: number, isCounted: boolean): string {
    return this.#library.make(
      this.#names.the(`sum_${number}_of_${variable}`),
      (name) => quote().declarations`var<private> ${name}: vec${isCounted ? 3 : 2}<u32>;`,
    );
  }

  #prefix(): string {
    return this.#library.make(
      this.#names.the("checksum_"),
      (prefix) => quote().declarations`${checksumWgsl(prefix)}`,
    );
  }
}

/**
 * The code by which both replicas get the result of an atomic operation that one of them executes.
 */
import { builtinFunction } from "../../analysis/effects.ts";
import type { CallExpression, Declaration, Expression, Statement } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../shared/names.ts";
import type { Comparison } from "./comparison/comparison.ts";
import type { Words } from "./comparison/valueWords.ts";

/** Returns the type of an operand or result of an atomic operation. */
export function integerOf(program: Program, operand: Expression): "i32" | "u32" {
  const type = program.valueTypeOf(operand);
  return type.kind === "scalar" && type.name === "i32" ? "i32" : "u32";
}

/**
 * An operation that runs once: the statements before its own statement, and the expression that
 * replaces it there.
 */
export interface SharedResult {
  readonly before: readonly Statement[];
  readonly initializer: Expression;
}

/**
 * The rewrite of atomic operations whose result is used. `atomicCompareExchangeWeak` returns a
 * struct without a name. Its fields are shared, and become a struct of the same shape.
 */
export class SharedResults {
  /** The structs with the shape of an exchange's result, and the variables of kept results. */
  readonly declarations: Declaration[] = [];
  readonly #program: Program;
  readonly #names: Names;
  readonly #comparison: Comparison;
  readonly #kept: number;

  /**
   * With `keptResults`, the first of two passes executes operations, and private variables keep so
   * many results of each for the second.
   */
  constructor(
    program: Program,
    names: Names,
    { comparison, keptResults = 0 }: { readonly comparison: Comparison; readonly keptResults?: number },
  ) {
    this.#program = program;
    this.#names = names;
    this.#comparison = comparison;
    this.#kept = keptResults;
  }

  share(call: CallExpression, site: number): SharedResult {
    return builtinFunction(this.#program, call) === "atomicCompareExchangeWeak"
      ? this.#exchange(call, site)
      : this.#integer(call, site);
  }

  #integer(call: CallExpression, site: number): SharedResult {
    const scalar = integerOf(this.#program, call);
    const { statements, expression } = quote(call.span);
    const { result, declared } = this.#variable(scalar);
    const before = [...declared, ...this.#leading(statements`${result} = ${call};`)];
    if (this.#keeps) return { before, initializer: expression`${result}` };
    const words: Words = { expression: expression`bitcast<u32>(${result})`, count: 1, scalar };
    return { before, initializer: expression`bitcast<${scalar}>(${this.#comparison.share(site, words)})` };
  }

  #exchange(call: CallExpression, site: number): SharedResult {
    // The first argument is the pointer.
    const scalar = integerOf(this.#program, call.args[1]!);
    const [exchange, shared] = [this.#names.fresh("exchange"), this.#names.fresh("shared")];
    const { statements, expression } = quote(call.span);
    const { result, declared } = this.#variable("vec2<u32>");
    const words: Words = { expression: expression`${result}`, count: 2, scalar };
    const both = this.#keeps ? expression`${result}` : this.#comparison.share(site, words);
    const before = [
      ...declared,
      ...this.#leading(statements`
        let ${exchange} = ${call};
        ${result} = vec2<u32>(bitcast<u32>(${exchange}.old_value), u32(${exchange}.exchanged));`),
      ...statements`let ${shared} = ${both};`,
    ];
    const struct = this.#exchangeStruct(scalar);
    return { before, initializer: expression`${struct}(bitcast<${scalar}>(${shared}.x), ${shared}.y != 0u)` };
  }

  #exchangeStruct(scalar: "i32" | "u32"): string {
    const name = this.#names.the(`Exchange_${scalar}`);
    if (!this.declarations.some((each) => each.kind === "struct" && each.name === name)) {
      this.declarations.push(
        ...quote().declarations`struct ${name} { old_value: ${scalar}, exchanged: bool }`,
      );
    }
    return name;
  }

  /** Returns statements that run in one replica. Nobody needs their results. */
  once(statements: readonly Statement[]): Statement[] {
    return this.#keeps ? this.#leading(statements) : this.#comparison.inFirst(statements);
  }

  #leading(statements: readonly Statement[]): Statement[] {
    const isFirst = this.#keeps ? this.#comparison.isSecond() : this.#comparison.leads();
    return this.#comparison.inFirst(statements, { isFirst });
  }

  get #keeps(): boolean {
    return this.#kept > 0;
  }

  /**
   * Returns a place for a result, and the statements that declare it. Kept results outlive the
   * pass. Each replica counts those of an operation that it has met.
   */
  #variable(type: string): { readonly result: string; readonly declared: Statement[] } {
    const name = this.#names.fresh("result");
    const { statements, declarations } = quote();
    if (!this.#keeps) return { result: name, declared: statements`var ${name}: ${type};` };
    const [counts, place] = [this.#names.fresh("met"), this.#names.fresh("place")];
    this.declarations.push(
      ...declarations`
        var<private> ${name}: array<${type}, ${this.#kept}>;
        var<private> ${counts}: array<u32, 2>;`,
    );
    const count = `${counts}[${this.#names.the("replica")}]`;
    return {
      result: `${name}[${place}]`,
      declared: statements`let ${place} = min(${count}, ${this.#kept - 1}u); ${count}++;`,
    };
  }
}

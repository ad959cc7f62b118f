/**
 * Rewrites expressions that load from protected buffers. Each load becomes a call of a function on
 * granules.
 */

import { builtinFunction } from "../../analysis/effects.ts";
import { wordsOf } from "../../analysis/subgroup/wordTypes.ts";
import type { CallExpression, Expression, FunctionDeclaration } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { isExpression, mapChildren } from "../../wgsl/traverse.ts";
import type { Names } from "../shared/names.ts";
import type { AccessFunctions } from "./accessFunctions.ts";
import type { LoadKind } from "./findingFunctions.ts";
import type { LineRuns } from "./lineRuns.ts";
import { SpeculativeLoads } from "./speculativeLoads.ts";

/** The treatment of loads that stay in their place. */
export type InPlace = Exclude<LoadKind, "uniform">;

/** The treatment of loads: speculative, or in their place. */
export type Where = SpeculativeLoads | InPlace;

/** Returns the treatment of loads that may not be evaluated, or only later. */
export const conditionally = (where: Where): InPlace =>
  where instanceof SpeculativeLoads ? "corrected" : where;

/** The functions and facts of one kernel. */
export interface WordExpressionsOptions {
  readonly access: AccessFunctions;
  readonly lines: LineRuns;
  /** The expressions whose values WGSL requires to be uniform. */
  readonly uniform: ReadonlySet<Expression>;
  /** Returns true if the callers of a function can check its loads. */
  readonly isTransparent: (fn: FunctionDeclaration) => boolean;
  /** Returns the name of such a function's version with loads of one kind. */
  readonly madeWith: (fn: FunctionDeclaration, kind: InPlace) => string;
}

/** The rewrite of one kernel's expressions. */
export class WordExpressions {
  readonly #program: Program;
  readonly #names: Names;
  readonly #options: WordExpressionsOptions;

  constructor(program: Program, names: Names, options: WordExpressionsOptions) {
    this.#program = program;
    this.#names = names;
    this.#options = options;
  }

  /**
   * Returns true if an expression is a load, or calls a function that loads, whose syndromes can be
   * tested later.
   */
  isLoad(expression: Expression): boolean {
    if (expression.kind === "call") return this.#loadingFunction(expression) !== undefined;
    return this.#isPlace(expression) && !this.#options.access.isKept(expression);
  }

  #loadingFunction(call: CallExpression): FunctionDeclaration | undefined {
    const target = this.#program.targetOf(call.callee);
    const { uniform, isTransparent } = this.#options;
    return target?.kind === "function" && !uniform.has(call) && isTransparent(target) ? target : undefined;
  }

  #isPlace(expression: Expression): boolean {
    const isChecked = this.#options.access.checked(expression) !== undefined;
    return isChecked && this.#program.typeOf(expression).kind === "reference";
  }

  value(expression: Expression, where: Where, inUniform = false): Expression {
    const { access, uniform } = this.#options;
    const isUniform = inUniform || uniform.has(expression);
    if (this.#isPlace(expression)) return this.#load(expression, where, isUniform);
    const { expression: make } = quote(expression.span);
    const called = expression.kind === "call" && !isUniform ? this.#loadingFunction(expression) : undefined;
    if (called) return this.#called(expression as CallExpression, called, where);
    const checked = access.checked(expression);
    // The rest of a pointer keeps a binding in use.
    if (checked && expression.kind === "unary" && expression.operator === "&")
      return make`&${access.words(checked)}`;
    if (expression.kind === "call" && builtinFunction(this.#program, expression) === "arrayLength") {
      const [pointer] = expression.args;
      if (pointer?.kind === "unary" && access.checked(pointer))
        return make`${access.length(pointer.operand)}()`;
    }
    if (expression.kind === "binary" && /^(&&|\|\|)$/.test(expression.operator)) {
      const left = this.value(expression.left, where, isUniform);
      return { ...expression, left, right: this.value(expression.right, conditionally(where), isUniform) };
    }
    return mapChildren(expression, (node) =>
      isExpression(node) ? this.value(node, where, isUniform) : node,
    );
  }

  #load(expression: Expression, where: Where, isUniform: boolean): Expression {
    const { access, lines } = this.#options;
    const { expression: make } = quote(expression.span);
    const isAhead = where instanceof SpeculativeLoads && !isUniform && !access.isKept(expression);
    const kind = isUniform ? "uniform" : isAhead ? "peeked" : conditionally(where);
    const { name: made, indices } = access.load(expression, kind);
    const args = indices.map((index) => make`u32(${this.value(index, where, isUniform)})`);
    const call = make`${made}(${args})`;
    if (!isAhead) return call;
    const name = this.#names.fresh("loaded");
    const note = lines.note(expression, args);
    const load = make`${access.load(expression, "repaired").name}(${structuredClone(args)})`;
    where.add(note ? { ...note, name, load } : { name, peek: call, load });
    return make`${name}`;
  }

  #called(expression: CallExpression, fn: FunctionDeclaration, where: Where): Expression {
    const { expression: make } = quote(expression.span);
    const given = expression.args.map((arg) => this.value(arg, where));
    const call = (kind: InPlace, own = given) => make`${this.#options.madeWith(fn, kind)}(${own})`;
    if (!(where instanceof SpeculativeLoads)) return call(where);
    const name = this.#names.fresh("loaded");
    const words = wordsOf(this.#program.typeOf(expression));
    where.add({ name, peek: call("peeked"), load: call("repaired", structuredClone(given)), words });
    return make`${name}`;
  }
}

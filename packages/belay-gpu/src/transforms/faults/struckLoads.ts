/**
 * The fault sites of loads: words of storage and uniform memory, and the indices of their places.
 * Loads of workgroup memory have sites for indices only.
 */
import type { IsDivergent } from "../../analysis/divergence.ts";
import { type Place, placeOf, rootIdentifier } from "../../analysis/places.ts";
import type { Declaration, Expression, Statement } from "../../wgsl/ast.ts";
import { printType } from "../../wgsl/printer.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { mapChildren, walk } from "../../wgsl/traverse.ts";
import { typeExpressionOf } from "../../wgsl/typeNames.ts";
import type { Type } from "../../wgsl/types.ts";
import { mapIndices } from "../shared/mapIndices.ts";
import type { Names } from "../shared/names.ts";
import type { FaultSites } from "./faultSites.ts";
import { lineBytes } from "./injectionWords.ts";
import { componentsOf, isStrikeable, type Strikes } from "./strikes.ts";

/** The facts of the program, and the lists of sites and functions that grow. */
export interface StruckLoadsOptions {
  readonly program: Program;
  readonly names: Names;
  readonly sites: FaultSites;
  readonly strikes: Strikes;
  readonly isDivergent: IsDivergent;
  /** The expressions whose values must be the same in all invocations. */
  readonly uniform: ReadonlySet<Expression>;
}

/**
 * Rewrites loads as calls of functions that take the indices, one function per load.
 *
 * Before:   a[i]
 * After:    load_1(i)
 *           fn load_1(i: u32) -> f32 {
 *             let j = strike_u32(1, i);
 *             return strike_load_f32(2, j * 4 / 128, a[j]);
 *           }
 */
export class StruckLoads {
  readonly #options: StruckLoadsOptions;
  readonly #declarations: Declaration[] = [];

  constructor(options: StruckLoadsOptions) {
    this.#options = options;
  }

  /** The functions of all loads so far. */
  get declarations(): readonly Declaration[] {
    return this.#declarations;
  }

  /** Returns the same expression with its loads struck. */
  struck(expression: Expression, functionName: string): Expression {
    const { program, uniform } = this.#options;
    // The operand of an address-of operator is not loaded here.
    if (uniform.has(expression) || (expression.kind === "unary" && expression.operator === "&"))
      return expression;
    const place = program.stageOf(expression) === "runtime" ? placeOf(program, expression) : undefined;
    if (place && this.#isStruck(place, expression)) return this.#load(expression, place, functionName);
    if (expression.kind === "identifier") return expression;
    return mapChildren(expression, (child) => {
      const isCallee = expression.kind === "call" && child === expression.callee;
      return isCallee ? child : this.struck(child as Expression, functionName);
    });
  }

  #isStruck({ type, space, variable, steps }: Place, expression: Expression): boolean {
    const { program, names } = this.#options;
    const isDynamic = steps.some((step) => step.kind === "index" && !program.constantOf(step.index));
    const isMemory = space === "storage" || space === "uniform" || (space === "workgroup" && isDynamic);
    return isMemory && isStrikeable(type) && !names.isGenerated(variable.name) && !hasPointer(expression);
  }

  #load(expression: Expression, place: Place, functionName: string): Expression {
    const { program, names, sites, strikes, isDivergent } = this.#options;
    const { type, space } = place;
    const { span } = expression;
    const code = quote(span);
    const args: Expression[] = [];
    const parameters: string[] = [];
    const lets: Statement[] = [];
    const terms: string[] = [];
    /** Returns the struck index inside the function. The index at the load becomes an argument. */
    const taken = (index: Expression, stride: number): Expression => {
      const indexType = program.valueTypeOf(index);
      if (!isStrikeable(indexType)) throw new Error("an index is a number");
      const uniform = !isDivergent(index);
      const site = sites.add({ kind: "address", uniform, span: index.span, functionName, components: 1 });
      const [given, used] = [names.fresh("index"), names.fresh("index")];
      args.push(this.struck(index, functionName));
      parameters.push(`${given}: ${textOf(indexType)}`);
      lets.push(
        ...code.statements`let ${used} = ${strikes.value(site, indexType, code.expression`${given}`)};`,
      );
      terms.push(`u32(${used}) * ${stride}u`);
      return code.expression`${used}`;
    };
    let known = 0;
    const dynamic = place.steps.flatMap((step) => {
      const constant = step.kind === "index" ? program.constantOf(step.index) : undefined;
      if (step.kind === "index" && !constant) return [step];
      known +=
        step.kind === "member"
          ? step.offset
          : step.stride * Number(constant && "value" in constant && constant.value);
      return [];
    });
    // An index out of bounds may exceed 32 bits.
    if (known > 0) terms.push(`${known >>> 0}u`);
    const loaded = mapIndices(expression, (index) => {
      const constant = program.constantOf(index);
      if (constant && "value" in constant) return code.expression`${String(constant.value)}`;
      return taken(index, dynamic.find((step) => step.index === index)!.stride);
    });
    let value = structuredClone(loaded);
    if (space !== "workgroup" && isStrikeable(type)) {
      const uniform = !isDivergent(expression);
      const site = sites.add({ kind: "load", uniform, span, functionName, components: componentsOf(type) });
      const line = `(${terms.length > 0 ? terms.join(" + ") : "0u"}) / ${lineBytes}u`;
      value = strikes.load(site, type, line, value);
    }
    const name = names.fresh("load");
    this.#declarations.push(
      ...code.declarations`fn ${name}(${parameters.join(", ")}) -> ${textOf(type)} { ${lets} return ${value}; }`,
    );
    return code.expression`${name}(${args})`;
  }
}

const textOf = (type: Type) => printType(typeExpressionOf(type));

/** Returns true for a place that is reached through a pointer. */
function hasPointer(place: Expression): boolean {
  let found = rootIdentifier(place) === undefined;
  walk(place, (node) => {
    if (node.kind === "unary" && (node.operator === "*" || node.operator === "&")) found = true;
  });
  return found;
}

import type { IsDivergent } from "../../analysis/divergence.ts";
import type { Uniformity } from "../../analysis/uniformity.ts";
import type { Expression } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import type { Type } from "../../wgsl/types.ts";
import type { Names } from "../shared/names.ts";
import type { FaultSite, FaultSites } from "./faultSites.ts";
import type { Loads } from "./loads.ts";
import { componentsOf, isStrikeable, type Strikes } from "./strikes.ts";

/** What is known of the program, and what its sites share. */
export interface Facts {
  readonly program: Program;
  readonly names: Names;
  readonly uniform: Uniformity;
  readonly isDivergent: IsDivergent;
  readonly sites: FaultSites;
  readonly strikes: Strikes;
  readonly loads: Loads;
}

/** Makes the sites of one function. */
export class FunctionSites {
  readonly facts: Facts;
  readonly #functionName: string;

  constructor(facts: Facts, functionName: string) {
    this.facts = facts;
    this.#functionName = functionName;
  }

  add(site: Omit<FaultSite, "id" | "functionName">): number {
    return this.facts.sites.add({ ...site, functionName: this.#functionName });
  }

  /** The expression with its loads struck. */
  loads(expression: Expression): Expression {
    return this.facts.loads.struck(expression, this.#functionName);
  }

  /**
   * `value`, of a type, struck at a site of its own; it stands for `original`, an expression of the
   * program.
   */
  value(kind: FaultSite["kind"], value: Expression, type: Type, original: Expression): Expression {
    if (!isStrikeable(type)) return value;
    const { isDivergent, strikes } = this.facts;
    const components = componentsOf(type);
    const site = this.add({ kind, uniform: !isDivergent(original), span: value.span, components });
    return strikes.value(site, type, value);
  }

  /**
   * Whether an expression is computed when the kernel runs, and may differ between invocations, as
   * it does once it is struck.
   */
  mayDiffer(expression: Expression): boolean {
    const { program, uniform } = this.facts;
    return !uniform.expressions.has(expression) && program.stageOf(expression) === "runtime";
  }
}

import type { IsDivergent } from "../../analysis/divergence.ts";
import type { Uniformity } from "../../analysis/uniformity.ts";
import type { Expression } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import type { Type } from "../../wgsl/types.ts";
import type { Names } from "../shared/names.ts";
import type { FaultSite, FaultSites } from "./faultSites.ts";
import { componentsOf, isStrikeable, type Strikes } from "./strikes.ts";
import type { StruckLoads } from "./struckLoads.ts";

/** What is known of the program, and what its sites share. */
export interface SiteContext {
  readonly program: Program;
  readonly names: Names;
  readonly uniform: Uniformity;
  readonly isDivergent: IsDivergent;
  readonly sites: FaultSites;
  readonly strikes: Strikes;
  readonly loads: StruckLoads;
}

/** Makes the sites of one function. */
export class FunctionSites {
  readonly context: SiteContext;
  readonly #functionName: string;

  constructor(facts: SiteContext, functionName: string) {
    this.context = facts;
    this.#functionName = functionName;
  }

  add(site: Omit<FaultSite, "id" | "functionName">): number {
    return this.context.sites.add({ ...site, functionName: this.#functionName });
  }

  /** The expression with its loads struck. */
  loads(expression: Expression): Expression {
    return this.context.loads.struck(expression, this.#functionName);
  }

  /**
   * `value`, of a type, struck at a site of its own; it stands for `original`, an expression of the
   * program.
   */
  value(kind: FaultSite["kind"], value: Expression, type: Type, original: Expression): Expression {
    if (!isStrikeable(type)) return value;
    const { isDivergent, strikes } = this.context;
    const components = componentsOf(type);
    const site = this.add({ kind, uniform: !isDivergent(original), span: value.span, components });
    return strikes.value(site, type, value);
  }

  /**
   * Whether an expression is computed when the kernel runs, and may differ between invocations, as
   * it does once it is struck.
   */
  mayDiffer(expression: Expression): boolean {
    const { program, uniform } = this.context;
    return !uniform.expressions.has(expression) && program.stageOf(expression) === "runtime";
  }
}

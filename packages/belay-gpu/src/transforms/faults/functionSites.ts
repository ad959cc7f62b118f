import type { IsDivergent } from "../../analysis/divergence.ts";
import type { Uniformity } from "../../analysis/uniformity.ts";
import type { Expression } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import type { AnyNode } from "../../wgsl/traverse.ts";
import type { Type } from "../../wgsl/types.ts";
import type { Names } from "../shared/names.ts";
import type { CampaignSite, FaultSites } from "./faultSites.ts";
import { componentsOf, isStrikeable, type Strikes } from "./strikes.ts";
import type { StruckLoads } from "./struckLoads.ts";

/** The facts of the program, and the parts that all its sites share. */
export interface SiteContext {
  readonly program: Program;
  readonly names: Names;
  readonly uniform: Uniformity;
  readonly isDivergent: IsDivergent;
  /** Tells if a part of the program operates on subgroup matrices. */
  readonly usesMatrices: (part: AnyNode) => boolean;
  readonly sites: FaultSites;
  readonly strikes: Strikes;
  readonly loads: StruckLoads;
}

/** The sites of one function. */
export class FunctionSites {
  readonly context: SiteContext;
  readonly #functionName: string;

  constructor(facts: SiteContext, functionName: string) {
    this.context = facts;
    this.#functionName = functionName;
  }

  add(site: Omit<CampaignSite, "id" | "functionName">): number {
    return this.context.sites.add({ ...site, functionName: this.#functionName });
  }

  /** Returns the expression with its loads struck. */
  loads(expression: Expression): Expression {
    return this.context.loads.struck(expression, this.#functionName);
  }

  /**
   * Returns `value`, of type `type`, struck at a new site. `original` is the expression of the
   * program that it replaces.
   */
  value(kind: CampaignSite["kind"], value: Expression, type: Type, original: Expression): Expression {
    if (!isStrikeable(type)) return value;
    const { isDivergent, strikes } = this.context;
    const components = componentsOf(type);
    const site = this.add({ kind, uniform: !isDivergent(original), span: value.span, components });
    return strikes.value(site, type, value);
  }

  /** Returns true if an expression is computed at run time and may differ between invocations. */
  mayDiffer(expression: Expression): boolean {
    const { program, uniform } = this.context;
    return !uniform.expressions.has(expression) && program.stageOf(expression) === "runtime";
  }
}

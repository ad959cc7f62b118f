/**
 * Adds fault sites to the program's source: values, loaded words, indices, outcomes of conditions,
 * and statements. The host can strike each of them.
 *
 * Before:   if (i < n) { out[i] = f(a[i]); }
 * After:    if (branch(5, i < n)) {
 *             if (!is_hit(4)) {
 *               let j = strike_u32(3, i);
 *               let v = strike_f32(2, f(load_1(i)));
 *               out[j] = v;
 *             }
 *           }
 *
 * Expressions that barriers depend on have no sites, because WGSL must prove them uniform. Neither
 * have constants, nor values other than 32-bit scalars and vectors of them. A loop whose end a
 * fault may have removed gets a limit (`fuel`). Without an armed fault all functions return their
 * arguments, so the kernel computes the same bits.
 *
 * Requires: access normal form, declareReport.
 * Ensures:  a valid module.
 * Order:    before replicateInvocations. Both replicas then compute the struck code.
 * Source:   the single-bit fault model of Wadden et al. 2014, section 3, applied to the source.
 */
import { divergence } from "../../analysis/divergence.ts";
import { builtinFunction } from "../../analysis/effects.ts";
import { matrixUsers } from "../../analysis/opaqueAccesses.ts";
import { uniformity } from "../../analysis/uniformity.ts";
import type { Block, Expression, FunctionDeclaration, Module, Statement } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { mayReachEnd } from "../../wgsl/resolve/behaviors.ts";
import { wrapEntryPoint } from "../shared/entryPointWrapper.ts";
import type { Names } from "../shared/names.ts";
import type { FaultSites } from "./faultSites.ts";
import { FunctionSites } from "./functionSites.ts";
import type { Strikes } from "./strikes.ts";
import { StruckLoads } from "./struckLoads.ts";
import { struckStatement } from "./struckStatement.ts";

/** The functions to strike, and the lists of sites and functions that grow. */
export interface InjectFaultsOptions {
  readonly sites: FaultSites;
  readonly strikes: Strikes;
  /** The functions whose code can be struck. */
  readonly functions: ReadonlySet<FunctionDeclaration>;
  /** The names of the entry points among `functions`. */
  readonly entryPoints: ReadonlySet<string>;
}

/** Returns the module with fault sites. */
export function injectFaults(program: Program, names: Names, options: InjectFaultsOptions): Module {
  const uniform = uniformity(program);
  const isDivergent = divergence(program);
  const { sites, strikes } = options;
  const loads = new StruckLoads({
    program,
    names,
    sites,
    strikes,
    isDivergent,
    uniform: uniform.expressions,
  });
  const usesMatrices = matrixUsers(program);
  const facts = { program, names, uniform, isDivergent, usesMatrices, sites, strikes, loads };
  const functions = program.module.declarations.flatMap((declaration) => {
    if (declaration.kind !== "function" || !options.functions.has(declaration)) return [declaration];
    const fn = {
      ...declaration,
      body: new Injection(new FunctionSites(facts, declaration.name)).block(declaration.body),
    };
    if (!options.entryPoints.has(fn.name)) return [fn];
    const { before, after } = strikes;
    const wrapper = { inputs: new Map(), derived: {}, before, after, attributes: fn.attributes };
    return wrapEntryPoint(program, names, fn, wrapper);
  });
  const declarations = [...functions, ...loads.declarations];
  return strikes.declareIn({ ...program.module, declarations }, sites.all.length);
}

/** The rewrite of one function. */
class Injection {
  readonly #sites: FunctionSites;

  constructor(sites: FunctionSites) {
    this.#sites = sites;
  }

  block(block: Block, first: readonly Statement[] = []): Block {
    return { ...block, statements: [...first, ...block.statements.flatMap((s) => this.#statement(s))] };
  }

  #statement(s: Statement): readonly Statement[] {
    switch (s.kind) {
      case "block":
        return [this.block(s)];
      case "if": {
        const [otherwise] = s.otherwise ? this.#statement(s.otherwise) : [null];
        const condition = this.#condition(s.condition);
        return [{ ...s, condition, then: this.block(s.then), otherwise: otherwise as typeof s.otherwise }];
      }
      case "switch": {
        const clauses = s.clauses.map((clause) => ({ ...clause, body: this.block(clause.body) }));
        return [{ ...s, selector: this.#selector(s.selector), clauses }];
      }
      case "loop": {
        const continuing = s.continuing && this.block(s.continuing);
        const breakIf = s.breakIf && this.#condition(s.breakIf);
        return [{ ...s, body: this.block(s.body, this.#limit(s)), continuing, breakIf }];
      }
      case "while": {
        const condition = this.#condition(s.condition);
        return [{ ...s, condition, body: this.block(s.body, this.#limit(s)) }];
      }
      case "for": {
        const initializer = s.initializer && this.#inHeader(s.initializer);
        const condition = s.condition && this.#condition(s.condition);
        const update = s.update && this.#inHeader(s.update);
        return [{ ...s, initializer, condition, update, body: this.block(s.body, this.#limit(s)) }];
      }
      case "assign":
      case "increment":
      case "callStatement": {
        const struck = struckStatement(this.#sites, s);
        const { uniform, strikes, usesMatrices } = this.#sites.context;
        const isWhole = uniform.uniformlyReached.has(s) || usesMatrices(s);
        if (isWhole || (s.kind === "assign" && !s.target)) return struck;
        const site = this.#sites.add({ kind: "statement", uniform: false, span: s.span, components: 0 });
        return [strikes.statement(site, struck)];
      }
      default:
        return struckStatement(this.#sites, s);
    }
  }

  /** Returns a struck statement of a loop's header. No other statement can stand beside it. */
  #inHeader<S extends Statement>(s: S): S {
    const [only, ...others] = struckStatement(this.#sites, s);
    return others.length === 0 ? (only as S) : s;
  }

  #condition(condition: Expression): Expression {
    if (!this.#sites.mayDiffer(condition)) return condition;
    // A lane alone cannot change the decision of its subgroup.
    if (
      condition.kind === "call" &&
      builtinFunction(this.#sites.context.program, condition) === "subgroupAll"
    )
      return { ...condition, args: condition.args.map((each) => this.#condition(each)) };
    const uniform = !this.#sites.context.isDivergent(condition);
    const site = this.#sites.add({ kind: "branch", uniform, span: condition.span, components: 1 });
    return this.#sites.context.strikes.condition(site, this.#sites.loads(condition));
  }

  #selector(selector: Expression): Expression {
    if (!this.#sites.mayDiffer(selector)) return selector;
    const type = this.#sites.context.program.valueTypeOf(selector);
    return this.#sites.value("branch", this.#sites.loads(selector), type, selector);
  }

  /**
   * Returns the statements that end a loop after too many iterations, if invocations may leave it
   * at different times. A loop that only a return leaves has no limit: nothing may follow it in a
   * function that returns a value.
   */
  #limit(loop: Statement): Statement[] {
    const { uniform, strikes, usesMatrices } = this.#sites.context;
    if (uniform.uniformlyReached.has(loop) || !mayReachEnd([loop])) return [];
    return strikes.limit(usesMatrices(loop));
  }
}

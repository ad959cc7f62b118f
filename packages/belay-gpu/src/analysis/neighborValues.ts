import type { BinaryOperator, Expression, FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program, Target } from "../wgsl/program.ts";
import { builtinValueOf } from "./builtinValueOf.ts";
import { builtinFunction } from "./effects.ts";
import {
  combined,
  either,
  isSame,
  mostMultiple,
  multipleOf,
  type NeighborPattern,
  same,
} from "./neighborPattern.ts";
import { addressSpaceOf } from "./places.ts";
import { workgroupSize } from "./workgroupSize.ts";

/** The pattern of each component of a value; null for a component without a known pattern. */
export type NeighborValue = readonly (NeighborPattern | null)[];

/** The assumptions of the analysis. */
export interface NeighborOptions {
  /**
   * The number of neighbors, a power of two. The workgroup indices of neighbors are equal except
   * in their remainder by it.
   */
  readonly count: number;
  /**
   * True to take each number that only the host knows as a multiple of every power of two. An
   * example is the width of an image.
   */
  readonly assumesAlignment?: boolean;
}

/**
 * The patterns of values across neighboring invocations. Facts only get weaker; a value without a
 * fact has not been seen yet.
 */
export class NeighborValues {
  readonly #program: Program;
  readonly #count: number;
  readonly #width: number;
  /** The power of two that the host's numbers are assumed to be multiples of. */
  readonly #host: number;
  readonly #known = new Map<Target, NeighborValue>();
  #changes = 0;

  constructor(
    program: Program,
    kernel: FunctionDeclaration,
    { count, assumesAlignment: isHopeful = false }: NeighborOptions,
  ) {
    this.#program = program;
    this.#host = isHopeful ? mostMultiple : 1;
    this.#count = count;
    [this.#width = 1] = workgroupSize(program, kernel);
    for (const parameter of kernel.parameters)
      this.#known.set(parameter, this.#builtin(builtinValueOf(parameter.attributes)));
  }

  /** The number of facts learned so far. */
  get changes(): number {
    return this.#changes;
  }

  /** Learns a further value of a variable, or a further result of a function. */
  learn(target: Target | undefined, value: NeighborValue | undefined): void {
    if (!target || !value || target.kind === "globalVariable") return;
    const before = this.#known.get(target);
    const size = Math.max(before?.length ?? 0, value.length);
    const after = before
      ? Array.from({ length: size }, (_, i) => either(before[i % before.length]!, value[i % value.length]!))
      : value;
    if (
      before &&
      after.every((each, i) => each?.ranks === before[i]?.ranks && each?.multiple === before[i]?.multiple)
    )
      return;
    this.#known.set(target, after);
    this.#changes++;
  }

  #builtin(name: string): NeighborValue {
    const isInStep = this.#width % this.#count === 0;
    const along = (multiple: number) => (isInStep ? { ranks: true, multiple: multipleOf(multiple) } : null);
    switch (name) {
      case "local_invocation_index":
        return [{ ranks: true, multiple: this.#count }];
      case "local_invocation_id":
        return [along(this.#count), isInStep ? same(1) : null, isInStep ? same(1) : null];
      case "global_invocation_id":
        return [along(this.#width), isInStep ? same(1) : null, isInStep ? same(1) : null];
      case "workgroup_id":
      case "num_workgroups":
        return [same(1), same(1), same(1)];
      default:
        return [null, null, null];
    }
  }

  /** Returns the pattern of an expression, or undefined while nothing is known. */
  of(expression: Expression): NeighborValue | undefined {
    const constant = this.#constant(expression);
    if (constant !== undefined) return [same(multipleOf(constant))];
    switch (expression.kind) {
      case "identifier": {
        const target = this.#program.targetOf(expression);
        if (target?.kind === "globalVariable") return [isUnchanged(target) ? same(this.#host) : null];
        return target && this.#known.get(target);
      }
      case "memberAccess": {
        const base = this.of(expression.base);
        if (!/^[xyzw]+$/.test(expression.member))
          return base && [base.every(isSame) ? same(this.#host) : null];
        return base && [...expression.member].map((letter) => base["xyzw".indexOf(letter)] ?? base[0]!);
      }
      case "index": {
        const [base, index] = [this.of(expression.base), this.of(expression.index)];
        return base && index && [[...base, ...index].every(isSame) ? same(this.#host) : null];
      }
      case "binary": {
        const [left, right] = [this.of(expression.left), this.of(expression.right)];
        return left && right && this.combined(expression.operator, left, right, expression.right);
      }
      case "unary":
        return this.of(expression.operand)?.map((each) => (isSame(each) ? same(1) : null));
      case "call":
        return this.#call(expression);
      default:
        return [null];
    }
  }

  #call(expression: Extract<Expression, { kind: "call" }>): NeighborValue | undefined {
    const target = this.#program.targetOf(expression.callee);
    if (target?.kind === "function") return this.#known.get(target);
    const name = builtinFunction(this.#program, expression);
    if (name === "arrayLength") return [same(this.#host)];
    const args = expression.args.map((arg) => this.of(arg));
    if (!args.every((arg) => arg !== undefined)) return undefined;
    const all = args.flat();
    if (name === undefined) return all;
    // These functions are assumed to return their first operand: limits rarely take effect.
    if (/^(min|max|clamp)$/.test(name))
      return [all.find((each) => each?.ranks) ?? (all.every(isSame) ? same(1) : null)];
    return [!/^(atomic|subgroup|quad)/.test(name) && all.every(isSame) ? same(1) : null];
  }

  /** Returns the result of an operator; `amount` is the right operand. */
  combined(
    operator: BinaryOperator,
    left: NeighborValue,
    right: NeighborValue,
    amount: Expression,
  ): NeighborValue {
    const by = this.#constant(amount);
    return Array.from({ length: Math.max(left.length, right.length) }, (_, i) =>
      combined(this.#count, operator, left[i % left.length]!, right[i % right.length]!, by),
    );
  }

  #constant(expression: Expression): number | undefined {
    const constant = this.#program.constantOf(expression);
    return constant && "value" in constant && typeof constant.value !== "boolean"
      ? Number(constant.value)
      : undefined;
  }
}

/** Returns true for memory that no invocation changes. */
function isUnchanged(variable: GlobalVariable): boolean {
  const access = variable.qualifiers[1];
  const space = addressSpaceOf(variable);
  return (
    space === "uniform" || (space === "storage" && !(access?.kind === "identifier" && access.name !== "read"))
  );
}

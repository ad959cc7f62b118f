import type { BinaryOperator, Expression, FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import type { Program, Target } from "../wgsl/program.ts";
import { builtinOf } from "./builtinOf.ts";
import { builtinFunction } from "./effects.ts";
import { combined, either, isSame, mostMultiple, multipleOf, type Pattern, same } from "./patterns.ts";
import { addressSpaceOf } from "./places.ts";
import { workgroupSize } from "./workgroupSize.ts";

/** What is known of each component of a value: null where they may differ in any way. */
export type NeighbourValue = readonly (Pattern | null)[];

export interface NeighbourOptions {
  /**
   * How many invocations are neighbours: their index in the workgroup differs only modulo this
   * power of two.
   */
  readonly count: number;
  /**
   * Takes numbers that only the host knows, such as the width of an image, for multiples of
   * whatever is needed.
   */
  readonly isHopeful?: boolean;
}

/**
 * How values differ between neighbours. Facts only get weaker; what has none yet is not known to
 * have any value.
 */
export class NeighbourValues {
  readonly #program: Program;
  readonly #count: number;
  readonly #width: number;
  /** What numbers of the host are multiples of. */
  readonly #host: number;
  readonly #known = new Map<Target, NeighbourValue>();
  #changes = 0;

  constructor(program: Program, kernel: FunctionDeclaration, { count, isHopeful = false }: NeighbourOptions) {
    this.#program = program;
    this.#host = isHopeful ? mostMultiple : 1;
    this.#count = count;
    [this.#width = 1] = workgroupSize(program, kernel);
    for (const parameter of kernel.parameters)
      this.#known.set(parameter, this.#builtin(builtinOf(parameter.attributes)));
  }

  /** How often something was learned. */
  get changes(): number {
    return this.#changes;
  }

  /** A variable may have this value, too, or a function return it. */
  learn(target: Target | undefined, value: NeighbourValue | undefined): void {
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

  #builtin(name: string): NeighbourValue {
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

  /** Undefined while nothing is known. */
  of(expression: Expression): NeighbourValue | undefined {
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

  #call(expression: Extract<Expression, { kind: "call" }>): NeighbourValue | undefined {
    const target = this.#program.targetOf(expression.callee);
    if (target?.kind === "function") return this.#known.get(target);
    const name = builtinFunction(this.#program, expression);
    if (name === "arrayLength") return [same(this.#host)];
    const args = expression.args.map((arg) => this.of(arg));
    if (!args.every((arg) => arg !== undefined)) return undefined;
    const all = args.flat();
    if (name === undefined) return all;
    // Where it limits nothing, which is nearly everywhere.
    if (/^(min|max|clamp)$/.test(name))
      return [all.find((each) => each?.ranks) ?? (all.every(isSame) ? same(1) : null)];
    return [!/^(atomic|subgroup|quad)/.test(name) && all.every(isSame) ? same(1) : null];
  }

  /** What an operator makes of values; `amount` is the right operand. */
  combined(
    operator: BinaryOperator,
    left: NeighbourValue,
    right: NeighbourValue,
    amount: Expression,
  ): NeighbourValue {
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

/** Memory that no invocation changes. */
function isUnchanged(variable: GlobalVariable): boolean {
  const access = variable.qualifiers[1];
  const space = addressSpaceOf(variable);
  return (
    space === "uniform" || (space === "storage" && !(access?.kind === "identifier" && access.name !== "read"))
  );
}

/** How values differ between neighbouring invocations of a workgroup, as far as the text shows it. */
import type {
  Assignment,
  Attribute,
  BinaryOperator,
  Expression,
  FunctionDeclaration,
  GlobalVariable,
} from "../wgsl/ast.ts";
import type { Program, Target } from "../wgsl/program.ts";
import { type AnyNode, children } from "../wgsl/traverse.ts";
import { reachableFrom } from "./callGraph.ts";
import { builtinFunction } from "./effects.ts";
import { combined, either, isSame, mostMultiple, multipleOf, type Pattern, same } from "./patterns.ts";
import { addressSpaceOf, rootIdentifier } from "./places.ts";

/** What is known of each component of a value: null where they may differ in any way. */
type Value = readonly (Pattern | null)[];

export interface NeighbourOptions {
  /** How many invocations are neighbours: their index in the workgroup differs only modulo this power of two. */
  readonly count: number;
  /** Takes numbers that only the host knows, such as the width of an image, for multiples of whatever is needed. */
  readonly isHopeful?: boolean;
}

/**
 * The patterns of integers in what a kernel reaches; undefined where there is none. That neighbours are in step, and within the bounds of what limits an index, is
 * taken for granted: whoever relies on it has to look when the kernel runs.
 */
export function neighbourPatterns(
  program: Program,
  kernel: FunctionDeclaration,
  { count, isHopeful = false }: NeighbourOptions,
): (expression: Expression) => Pattern | undefined {
  const analysis = new Analysis(program, kernel, count, isHopeful ? mostMultiple : 1);
  const functions = reachableFrom(program, [kernel]);
  do {
    analysis.isDone = true;
    for (const fn of functions) analysis.visit(fn.body, fn);
  } while (!analysis.isDone);
  return (expression) => analysis.valueOf(expression)?.[0] ?? undefined;
}

/** Facts that only get weaker; what has none yet is not known to have any value. */
class Analysis {
  readonly #program: Program;
  readonly #count: number;
  readonly #width: number | undefined;
  /** What numbers of the host are multiples of. */
  readonly #host: number;
  readonly #values = new Map<Target, Value>();
  isDone = false;

  constructor(program: Program, kernel: FunctionDeclaration, count: number, host: number) {
    this.#program = program;
    this.#host = host;
    this.#count = count;
    const [width] = kernel.attributes.find(({ name }) => name === "workgroup_size")?.args ?? [];
    this.#width = width && this.#constant(width);
    for (const parameter of kernel.parameters)
      this.#values.set(parameter, this.#builtin(builtinOf(parameter.attributes)));
  }

  #builtin(name: string): Value {
    const width = this.#width ?? 1;
    const isInStep = width % this.#count === 0;
    const along = (multiple: number) => (isInStep ? { ranks: true, multiple: multipleOf(multiple) } : null);
    switch (name) {
      case "local_invocation_index":
        return [{ ranks: true, multiple: this.#count }];
      case "local_invocation_id":
        return [along(this.#count), isInStep ? same(1) : null, isInStep ? same(1) : null];
      case "global_invocation_id":
        return [along(width), isInStep ? same(1) : null, isInStep ? same(1) : null];
      case "workgroup_id":
      case "num_workgroups":
        return [same(1), same(1), same(1)];
      default:
        return [null, null, null];
    }
  }

  /** Undefined while nothing is known. */
  valueOf(expression: Expression): Value | undefined {
    const constant = this.#constant(expression);
    if (constant !== undefined) return [same(multipleOf(constant))];
    switch (expression.kind) {
      case "identifier": {
        const target = this.#program.targetOf(expression);
        if (target?.kind === "globalVariable") return [isUnchanged(target) ? same(this.#host) : null];
        return target && this.#values.get(target);
      }
      case "memberAccess": {
        const base = this.valueOf(expression.base);
        if (!/^[xyzw]+$/.test(expression.member))
          return base && [base.every(isSame) ? same(this.#host) : null];
        return base && [...expression.member].map((letter) => base["xyzw".indexOf(letter)] ?? base[0]!);
      }
      case "index": {
        const [base, index] = [this.valueOf(expression.base), this.valueOf(expression.index)];
        return base && index && [[...base, ...index].every(isSame) ? same(this.#host) : null];
      }
      case "binary": {
        const [left, right] = [this.valueOf(expression.left), this.valueOf(expression.right)];
        if (!left || !right) return undefined;
        const size = Math.max(left.length, right.length);
        return Array.from({ length: size }, (_, i) =>
          combined(
            this.#count,
            expression.operator,
            left[i % left.length]!,
            right[i % right.length]!,
            this.#constant(expression.right),
          ),
        );
      }
      case "unary":
        return this.valueOf(expression.operand)?.map((each) => (isSame(each) ? same(1) : null));
      case "call":
        return this.#call(expression);
      default:
        return [null];
    }
  }

  #call(expression: Extract<Expression, { kind: "call" }>): Value | undefined {
    const target = this.#program.targetOf(expression.callee);
    if (target?.kind === "function") return this.#values.get(target);
    const name = builtinFunction(this.#program, expression);
    if (name === "arrayLength") return [same(this.#host)];
    const args = expression.args.map((arg) => this.valueOf(arg));
    if (!args.every((arg) => arg !== undefined)) return undefined;
    const all = args.flat();
    if (name === undefined) return all;
    // Where it limits nothing, which is nearly everywhere.
    if (/^(min|max|clamp)$/.test(name))
      return [all.find((each) => each?.ranks) ?? (all.every(isSame) ? same(1) : null)];
    return [!/^(atomic|subgroup|quad)/.test(name) && all.every(isSame) ? same(1) : null];
  }

  #constant(expression: Expression): number | undefined {
    const constant = this.#program.constantOf(expression);
    return constant && "value" in constant && typeof constant.value !== "boolean"
      ? Number(constant.value)
      : undefined;
  }

  visit(node: AnyNode, fn: FunctionDeclaration): void {
    switch (node.kind) {
      case "let":
      case "var":
        this.#assign(node, node.initializer ? this.valueOf(node.initializer) : [same(mostMultiple)]);
        break;
      case "assign":
        if (node.target) this.#assign(this.#rootOf(node.target), this.#assigned(node));
        break;
      case "increment":
        this.#assign(
          this.#rootOf(node.target),
          this.valueOf(node.target)?.map((each) => each && { ...each, multiple: 1 }),
        );
        break;
      case "return":
        if (node.value) this.#assign(fn, this.valueOf(node.value));
        break;
      case "unary":
        if (node.operator === "&") this.#assign(this.#rootOf(node.operand), [null]);
        break;
      case "call": {
        const callee = this.#program.targetOf(node.callee);
        if (callee?.kind === "function")
          for (const [i, parameter] of callee.parameters.entries())
            this.#assign(parameter, this.valueOf(node.args[i]!));
      }
    }
    for (const child of children(node)) this.visit(child, fn);
  }

  #assigned({ target, operator, value }: Assignment): Value | undefined {
    if (operator === "=") return target?.kind === "identifier" ? this.valueOf(value) : [null];
    const [before, by] = [this.valueOf(target!), this.valueOf(value)];
    const combine = operator.slice(0, -1) as BinaryOperator;
    return (
      before &&
      by &&
      before.map((each, i) => combined(this.#count, combine, each, by[i % by.length]!, this.#constant(value)))
    );
  }

  #rootOf(place: Expression): Target | undefined {
    const root = rootIdentifier(place);
    return root && this.#program.targetOf(root);
  }

  #assign(target: Target | undefined, value: Value | undefined): void {
    if (!target || !value || target.kind === "globalVariable") return;
    const before = this.#values.get(target);
    const size = Math.max(before?.length ?? 0, value.length);
    const after = before
      ? Array.from({ length: size }, (_, i) => either(before[i % before.length]!, value[i % value.length]!))
      : value;
    if (
      before &&
      after.every((each, i) => each?.ranks === before[i]?.ranks && each?.multiple === before[i]?.multiple)
    )
      return;
    this.#values.set(target, after);
    this.isDone = false;
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

function builtinOf(attributes: readonly Attribute[]): string {
  const argument = attributes.find(({ name }) => name === "builtin")?.args[0];
  return argument?.kind === "identifier" ? argument.name : "";
}

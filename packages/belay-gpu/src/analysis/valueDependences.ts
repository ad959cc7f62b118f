import type { Expression, FunctionDeclaration } from "../wgsl/ast.ts";
import type { Program, Target } from "../wgsl/program.ts";
import { builtinValueOf } from "./builtinValueOf.ts";
import { builtinFunction } from "./effects.ts";
import { addressSpaceOf } from "./places.ts";

/**
 * A set of dependences of a value, as bits. The sizes of grid, workgroups and arrays count as
 * constants.
 */
export type Dependences = number;

/**
 * The bits of {@link Dependences}: the components of `workgroup_id` and `local_invocation_id`, the
 * contents of uniform buffers, and everything else that is known only when a kernel runs
 * (`contents`).
 */
export const dependence = { workgroup: [1, 2, 4], local: [8, 16, 32], contents: 64, uniforms: 128 } as const;

/** The memory whose contents decide something: uniform buffers alone, or any memory. */
export type DecidingMemory = "uniforms" | "any";

/** Returns the memory on which something depends; undefined if it depends on none. */
export function decidingMemory(ids: Dependences): DecidingMemory | undefined {
  if (ids & dependence.contents) return "any";
  return ids & dependence.uniforms ? "uniforms" : undefined;
}

const { contents, uniforms } = dependence;
const allIds = 63;
const builtins: Readonly<Record<string, readonly Dependences[]>> = {
  workgroup_id: dependence.workgroup,
  local_invocation_id: dependence.local,
  global_invocation_id: [1 | 8, 2 | 16, 4 | 32],
  local_invocation_index: [8 | 16 | 32],
  num_workgroups: [0, 0, 0],
};

/**
 * The invocation ids that values depend on, through the variables that they are computed from.
 * Facts only grow.
 */
export class ValueDependences {
  readonly #program: Program;
  /** The dependences of each component of variables and of function results. */
  readonly #known = new Map<Target, readonly Dependences[]>();
  #changes = 0;

  constructor(program: Program, kernel: FunctionDeclaration) {
    this.#program = program;
    for (const parameter of kernel.parameters) {
      const name = builtinValueOf(parameter.attributes);
      this.#known.set(
        parameter,
        builtins[name] ?? [allIds | (/^(subgroup|num_subgroups)/.test(name) ? contents : 0)],
      );
    }
  }

  /** The number of facts learned so far. */
  get changes(): number {
    return this.#changes;
  }

  /** Learns dependences of a further value of a variable, or of a further result of a function. */
  learn(target: Target, value: readonly Dependences[]): void {
    const before = this.#known.get(target);
    const after = before ? joined(before, value) : value;
    if (before?.length === after.length && after.every((each, i) => each === before[i])) return;
    this.#known.set(target, after);
    this.#changes++;
  }

  /** Returns the dependences of the indices of a place. */
  ofIndices(place: Expression): Dependences {
    if (place.kind === "index") return all(this.of(place.index)) | this.ofIndices(place.base);
    return place.kind === "memberAccess" ? this.ofIndices(place.base) : 0;
  }

  /** Returns the dependences of each component of an expression's value. */
  of(expression: Expression): readonly Dependences[] {
    const constant = this.#program.constantOf(expression);
    if (constant) return [0];
    switch (expression.kind) {
      case "literal":
        return [0];
      case "identifier": {
        const target = this.#program.targetOf(expression);
        const space = target?.kind === "globalVariable" ? addressSpaceOf(target) : "private";
        if (space !== "private")
          return [space === "uniform" ? uniforms : space === "workgroup" ? contents | allIds : contents];
        return (target && this.#known.get(target)) ?? [0];
      }
      case "memberAccess": {
        const base = this.of(expression.base);
        const type = this.#program.valueTypeOf(expression.base);
        if (type?.kind !== "vector" || base.length === 1) return [all(base)];
        return [...expression.member].map((letter) => base["xyzwrgba".indexOf(letter) % 4] ?? all(base));
      }
      case "index":
        return [all(this.of(expression.base)) | all(this.of(expression.index))];
      case "binary":
        return joined(this.of(expression.left), this.of(expression.right));
      case "unary":
        return this.of(expression.operand);
      case "call":
        return this.#call(expression);
    }
  }

  #call(expression: Extract<Expression, { kind: "call" }>): readonly Dependences[] {
    const callee = this.#program.targetOf(expression.callee);
    if (callee?.kind === "function") return this.#known.get(callee) ?? [0];
    const name = builtinFunction(this.#program, expression);
    if (name === "arrayLength") return [0];
    const args = expression.args.map((arg) => this.of(arg));
    if (name === undefined) {
      const isVector = this.#program.valueTypeOf(expression)?.kind === "vector";
      return isVector && args.length > 0 ? args.flat() : [all(args.flat())];
    }
    // The result may differ between invocations.
    if (/^(atomic|subgroup|quad)/.test(name)) return [contents | allIds];
    return [all(args.flat()) | (/^(texture|workgroupUniformLoad)/.test(name) ? contents : 0)];
  }
}

/** Returns the union of the dependences of all components. */
export const all = (value: readonly Dependences[]): Dependences => value.reduce((sum, each) => sum | each, 0);

/** Returns the unions by component. A scalar goes with every component. */
function joined(a: readonly Dependences[], b: readonly Dependences[]): readonly Dependences[] {
  const size = Math.max(a.length, b.length);
  const at = (value: readonly Dependences[], i: number) => (value.length === size ? value[i]! : all(value));
  return Array.from({ length: size }, (_, i) => at(a, i) | at(b, i));
}

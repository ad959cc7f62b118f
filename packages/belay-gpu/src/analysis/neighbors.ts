/** Analyses how integers differ between neighboring invocations of a workgroup. */
import type { Assignment, BinaryOperator, Expression, FunctionDeclaration } from "../wgsl/ast.ts";
import type { Program, Target } from "../wgsl/program.ts";
import { type AnyNode, children } from "../wgsl/traverse.ts";
import { reachableFrom } from "./callGraph.ts";
import { mostMultiple, type NeighborPattern, same } from "./neighborPattern.ts";
import { type NeighborOptions, type NeighborValue, NeighborValues } from "./neighborValues.ts";
import { rootIdentifier } from "./places.ts";

/**
 * Returns the patterns of the integers in a kernel, as a function of the expression; undefined for
 * none.
 *
 * The analysis assumes that neighbors execute in lockstep and that the limits of an index take no
 * effect. Code that relies on a pattern has to check it when the kernel runs.
 */
export function neighborPatterns(
  program: Program,
  kernel: FunctionDeclaration,
  options: NeighborOptions,
): (expression: Expression) => NeighborPattern | undefined {
  const values = new NeighborValues(program, kernel, options);
  const flow = new Flow(program, values);
  const functions = [...reachableFrom(program, [kernel])];
  // Arguments flow to callees, and results to callers. So long call chains need few rounds.
  const bothWays = [...functions.toReversed(), ...functions];
  for (let before = -1; before !== values.changes; ) {
    before = values.changes;
    for (const fn of bothWays) flow.visit(fn.body, fn);
  }
  return (expression) => values.of(expression)?.[0] ?? undefined;
}

/** Propagates patterns through declarations, assignments, calls and returns. */
class Flow {
  readonly #program: Program;
  readonly #values: NeighborValues;

  constructor(program: Program, values: NeighborValues) {
    this.#program = program;
    this.#values = values;
  }

  visit(node: AnyNode, fn: FunctionDeclaration): void {
    switch (node.kind) {
      case "let":
      case "var":
        this.#values.learn(node, node.initializer ? this.#values.of(node.initializer) : [same(mostMultiple)]);
        break;
      case "assign":
        if (node.target) this.#values.learn(this.#rootOf(node.target), this.#assigned(node));
        break;
      case "increment":
        this.#values.learn(
          this.#rootOf(node.target),
          this.#values.of(node.target)?.map((each) => each && { ...each, multiple: 1 }),
        );
        break;
      case "return":
        if (node.value) this.#values.learn(fn, this.#values.of(node.value));
        break;
      case "unary":
        if (node.operator === "&") this.#values.learn(this.#rootOf(node.operand), [null]);
        break;
      case "call": {
        const callee = this.#program.targetOf(node.callee);
        if (callee?.kind === "function")
          for (const [i, parameter] of callee.parameters.entries())
            this.#values.learn(parameter, this.#values.of(node.args[i]!));
      }
    }
    for (const child of children(node)) this.visit(child, fn);
  }

  #assigned({ target, operator, value }: Assignment): NeighborValue | undefined {
    if (operator === "=") return target?.kind === "identifier" ? this.#values.of(value) : [null];
    const [before, by] = [this.#values.of(target!), this.#values.of(value)];
    return before && by && this.#values.combined(operator.slice(0, -1) as BinaryOperator, before, by, value);
  }

  #rootOf(place: Expression): Target | undefined {
    const root = rootIdentifier(place);
    return root && this.#program.targetOf(root);
  }
}

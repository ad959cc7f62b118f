/** Computes the invocation ids that decide which memory an invocation accesses. */
import type { Expression, FunctionDeclaration, Statement } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, children, isExpression } from "../wgsl/traverse.ts";
import { reachableFrom } from "./callGraph.ts";
import { rootIdentifier } from "./places.ts";
import { all, type Dependences, dependence, ValueDependences } from "./valueDependences.ts";

/**
 * Returns a function that tells on what a place in a kernel depends: on what its indices depend,
 * and whether and how often it is accessed.
 *
 * Source: the divergence analysis of Coutinho et al. 2011, in which a variable also depends on the
 * conditions under which it is assigned.
 */
export function dependencesOfPlaces(
  program: Program,
  kernel: FunctionDeclaration,
): (place: Expression) => Dependences {
  const values = new ValueDependences(program, kernel);
  const flow = new ControlDependences(program, values);
  const functions = reachableFrom(program, [kernel]);
  for (let before = -1; before !== flow.changes + values.changes; ) {
    before = flow.changes + values.changes;
    for (const fn of functions) flow.visit(fn.body, { fn, leaves: [fn], control: 0 });
  }
  return (place) => flow.of(place) | values.ofIndices(place);
}

/** The context of a statement. */
interface Flow {
  readonly fn: FunctionDeclaration;
  /**
   * The constructs that a statement may leave: the function, and the loops and `switch`es around
   * it.
   */
  readonly leaves: readonly AnyNode[];
  /** The dependences of the conditions under which the statement is executed. */
  readonly control: Dependences;
}

/**
 * The control dependences of a kernel. Facts only grow; they hold once a visit of all functions
 * adds none.
 */
class ControlDependences {
  readonly #program: Program;
  readonly #values: ValueDependences;
  /** The dependences of the conditions that call or leave functions, and that leave loops. */
  readonly #controls = new Map<AnyNode, Dependences>();
  /** The dependences of the conditions under which an expression is evaluated. */
  readonly #reached = new Map<Expression, Dependences>();
  #changes = 0;

  constructor(program: Program, values: ValueDependences) {
    this.#program = program;
    this.#values = values;
  }

  /** The number of facts learned so far. */
  get changes(): number {
    return this.#changes;
  }

  /** Returns the dependences of the conditions under which an expression is evaluated. */
  of(expression: Expression): Dependences {
    return this.#reached.get(expression) ?? 0;
  }

  visit(node: AnyNode, flow: Flow): void {
    const control =
      flow.control |
      this.#controlOf(flow.fn) |
      flow.leaves.reduce((sum, each) => sum | this.#controlOf(each), 0);
    const here = { ...flow, control };
    if (isExpression(node)) {
      this.#expression(node, here);
      return;
    }
    this.#note(node as Statement, here);
    const inner = this.#insideOf(node, here);
    for (const child of children(node)) this.visit(child, inner);
  }

  #expression(expression: Expression, flow: Flow): void {
    this.#reached.set(expression, this.of(expression) | flow.control);
    if (expression.kind === "unary" && expression.operator === "&")
      this.#assign(expression.operand, [dependence.contents]);
    if (expression.kind === "call") {
      const callee = this.#program.targetOf(expression.callee);
      if (callee?.kind === "function") {
        this.#decide(callee, flow.control);
        for (const [i, parameter] of callee.parameters.entries())
          this.#values.learn(parameter, this.#values.of(expression.args[i]!));
      }
    }
    const isShortCircuit =
      expression.kind === "binary" && (expression.operator === "&&" || expression.operator === "||");
    for (const child of children(expression)) {
      const skips = isShortCircuit && child === expression.right ? all(this.#values.of(expression.left)) : 0;
      if (isExpression(child)) this.#expression(child, { ...flow, control: flow.control | skips });
    }
  }

  /** Returns the context of a node's children. */
  #insideOf(node: AnyNode, flow: Flow): Flow {
    const under = (condition: Expression | null) =>
      flow.control | (condition ? all(this.#values.of(condition)) : 0);
    switch (node.kind) {
      case "if":
        return { ...flow, control: under(node.condition) };
      case "switch":
        return { ...flow, control: under(node.selector), leaves: [...flow.leaves, node] };
      case "for":
      case "while":
        return { ...flow, control: under(node.condition), leaves: [...flow.leaves, node] };
      case "loop":
        return { ...flow, control: under(node.breakIf), leaves: [...flow.leaves, node] };
      default:
        return flow;
    }
  }

  #note(statement: Statement, { fn, leaves, control }: Flow): void {
    const under = (value: Expression) => this.#values.of(value).map((each) => each | control);
    switch (statement.kind) {
      case "let":
      case "var":
        if (statement.initializer) this.#values.learn(statement, under(statement.initializer));
        break;
      case "assign":
        if (statement.target) this.#assign(statement.target, under(statement.value));
        break;
      case "increment":
        this.#assign(statement.target, [control]);
        break;
      case "return":
        this.#decide(fn, control);
        if (statement.value) this.#values.learn(fn, under(statement.value));
        break;
      case "break":
      case "continue":
        for (const each of leaves.slice(1)) this.#decide(each, control);
    }
  }

  #assign(place: Expression, value: readonly Dependences[]): void {
    const root = rootIdentifier(place);
    const target = root && this.#program.targetOf(root);
    if (!target) return;
    if (place.kind === "identifier") this.#values.learn(target, value);
    else this.#values.learn(target, [all(value) | this.#values.ofIndices(place)]);
  }

  #controlOf(node: AnyNode): Dependences {
    return this.#controls.get(node) ?? 0;
  }

  #decide(node: AnyNode, by: Dependences): void {
    const before = this.#controlOf(node);
    if ((before | by) === before) return;
    this.#controls.set(node, before | by);
    this.#changes++;
  }
}

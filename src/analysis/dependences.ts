/** Which of an invocation's ids decide what it accesses, where nothing else does. */
import type { Attribute, Expression, FunctionDeclaration, Statement } from "../wgsl/ast.ts";
import type { Program, Target } from "../wgsl/program.ts";
import { type AnyNode, children, isExpression } from "../wgsl/traverse.ts";
import { builtinOf } from "./builtinOf.ts";
import { reachableFrom } from "./callGraph.ts";
import { builtinFunction } from "./effects.ts";
import { addressSpaceOf, rootIdentifier } from "./places.ts";

/** A set of what a value depends on, as bits. Sizes of the grid, of workgroups and of arrays count as constants. */
export type Dependences = number;

/** The components of `workgroup_id` and `local_invocation_id`, and everything that is known only when a kernel runs. */
export const dependence = { workgroup: [1, 2, 4], local: [8, 16, 32], contents: 64 } as const;

const { contents } = dependence;
const allIds = 63;
const builtins: Readonly<Record<string, readonly Dependences[]>> = {
  workgroup_id: dependence.workgroup,
  local_invocation_id: dependence.local,
  global_invocation_id: [1 | 8, 2 | 16, 4 | 32],
  local_invocation_index: [8 | 16 | 32],
  num_workgroups: [0, 0, 0],
};

/**
 * What decides which part of a variable a place in a kernel is, whether it is accessed at all, and how often.
 *
 * Source: as in the divergence analysis of Coutinho et al. 2011, a variable depends on the conditions that it is assigned under.
 */
export function dependencesOfPlaces(
  program: Program,
  kernel: FunctionDeclaration,
): (place: Expression) => Dependences {
  const analysis = new Analysis(program, kernel);
  const functions = reachableFrom(program, [kernel]);
  do {
    analysis.isDone = true;
    for (const fn of functions) analysis.visit(fn.body, { fn, leaves: [fn], control: 0 });
  } while (!analysis.isDone);
  return (place) => analysis.ofPlace(place);
}

/** Where a statement stands. */
interface Flow {
  readonly fn: FunctionDeclaration;
  /** What a statement may leave: the function, and the loops and `switch`es around it. */
  readonly leaves: readonly AnyNode[];
  /** What decides whether it is executed. */
  readonly control: Dependences;
}

/** Facts that only grow; they hold once a visit of all functions adds none. */
class Analysis {
  readonly #program: Program;
  /** Of variables, by components, and of the results of functions. */
  readonly #values = new Map<Target, readonly Dependences[]>();
  /** What decides when functions are called or left, and loops are left. */
  readonly #controls = new Map<AnyNode, Dependences>();
  /** What decides whether expressions are evaluated. */
  readonly #reached = new Map<Expression, Dependences>();
  isDone = false;

  constructor(program: Program, kernel: FunctionDeclaration) {
    this.#program = program;
    for (const parameter of kernel.parameters) {
      const name = builtinOf(parameter.attributes);
      this.#values.set(
        parameter,
        builtins[name] ?? [/^(subgroup|num_subgroups)/.test(name) ? contents : allIds],
      );
    }
  }

  ofPlace(place: Expression): Dependences {
    return (this.#reached.get(place) ?? 0) | this.#indicesOf(place);
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
    this.#reached.set(expression, (this.#reached.get(expression) ?? 0) | flow.control);
    if (expression.kind === "unary" && expression.operator === "&")
      this.#assign(expression.operand, [contents]);
    if (expression.kind === "call") {
      const callee = this.#program.targetOf(expression.callee);
      if (callee?.kind === "function") {
        this.#decide(callee, flow.control);
        for (const [i, parameter] of callee.parameters.entries())
          this.#learn(parameter, this.#valueOf(expression.args[i]!));
      }
    }
    const isShortCircuit =
      expression.kind === "binary" && (expression.operator === "&&" || expression.operator === "||");
    for (const child of children(expression)) {
      const skips = isShortCircuit && child === expression.right ? all(this.#valueOf(expression.left)) : 0;
      if (isExpression(child)) this.#expression(child, { ...flow, control: flow.control | skips });
    }
  }

  /** The flow below a node. */
  #insideOf(node: AnyNode, flow: Flow): Flow {
    const under = (condition: Expression | null) =>
      flow.control | (condition ? all(this.#valueOf(condition)) : 0);
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
    const under = (value: Expression) => this.#valueOf(value).map((each) => each | control);
    switch (statement.kind) {
      case "let":
      case "var":
        if (statement.initializer) this.#learn(statement, under(statement.initializer));
        break;
      case "assign":
        if (statement.target) this.#assign(statement.target, under(statement.value));
        break;
      case "increment":
        this.#assign(statement.target, [control]);
        break;
      case "return":
        this.#decide(fn, control);
        if (statement.value) this.#learn(fn, under(statement.value));
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
    if (place.kind === "identifier") this.#learn(target, value);
    else this.#learn(target, [all(value) | this.#indicesOf(place)]);
  }

  #indicesOf(place: Expression): Dependences {
    if (place.kind === "index") return all(this.#valueOf(place.index)) | this.#indicesOf(place.base);
    return place.kind === "memberAccess" ? this.#indicesOf(place.base) : 0;
  }

  #valueOf(expression: Expression): readonly Dependences[] {
    const constant = this.#program.constantOf(expression);
    if (constant) return [0];
    switch (expression.kind) {
      case "literal":
        return [0];
      case "identifier": {
        const target = this.#program.targetOf(expression);
        if (target?.kind === "globalVariable" && addressSpaceOf(target) !== "private")
          return [addressSpaceOf(target) === "workgroup" ? contents | allIds : contents];
        return (target && this.#values.get(target)) ?? [0];
      }
      case "memberAccess": {
        const base = this.#valueOf(expression.base);
        const type = this.#program.valueTypeOf(expression.base);
        if (type?.kind !== "vector" || base.length === 1) return [all(base)];
        return [...expression.member].map((letter) => base["xyzwrgba".indexOf(letter) % 4] ?? all(base));
      }
      case "index":
        return [all(this.#valueOf(expression.base)) | all(this.#valueOf(expression.index))];
      case "binary":
        return joined(this.#valueOf(expression.left), this.#valueOf(expression.right));
      case "unary":
        return this.#valueOf(expression.operand);
      case "call":
        return this.#call(expression);
    }
  }

  #call(expression: Extract<Expression, { kind: "call" }>): readonly Dependences[] {
    const callee = this.#program.targetOf(expression.callee);
    if (callee?.kind === "function") return this.#values.get(callee) ?? [0];
    const name = builtinFunction(this.#program, expression);
    if (name === "arrayLength") return [0];
    const args = expression.args.map((arg) => this.#valueOf(arg));
    if (name === undefined) {
      const isVector = this.#program.valueTypeOf(expression)?.kind === "vector";
      return isVector && args.length > 0 ? args.flat() : [all(args.flat())];
    }
    // Each invocation has results of its own.
    if (/^(atomic|subgroup|quad)/.test(name)) return [contents | allIds];
    return [all(args.flat()) | (/^(texture|workgroupUniformLoad)/.test(name) ? contents : 0)];
  }

  #controlOf(node: AnyNode): Dependences {
    return this.#controls.get(node) ?? 0;
  }

  #decide(node: AnyNode, by: Dependences): void {
    const before = this.#controlOf(node);
    if ((before | by) === before) return;
    this.#controls.set(node, before | by);
    this.isDone = false;
  }

  #learn(target: Target, value: readonly Dependences[]): void {
    const before = this.#values.get(target);
    const after = before ? joined(before, value) : value;
    if (before?.length === after.length && after.every((each, i) => each === before[i])) return;
    this.#values.set(target, after);
    this.isDone = false;
  }
}

const all = (value: readonly Dependences[]): Dependences => value.reduce((sum, each) => sum | each, 0);

/** Of values that are joined component by component, where one may be a scalar. */
function joined(a: readonly Dependences[], b: readonly Dependences[]): readonly Dependences[] {
  const size = Math.max(a.length, b.length);
  const at = (value: readonly Dependences[], i: number) => (value.length === size ? value[i]! : all(value));
  return Array.from({ length: size }, (_, i) => at(a, i) | at(b, i));
}

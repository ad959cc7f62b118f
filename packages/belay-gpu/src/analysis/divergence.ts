/** Computes which values may differ between the invocations of a workgroup. */
import type { Expression, FunctionDeclaration, Statement } from "../wgsl/ast.ts";
import type { Program, Target } from "../wgsl/program.ts";
import { type AnyNode, children, isExpression, walk } from "../wgsl/traverse.ts";
import { builtinValueOf } from "./builtinValueOf.ts";
import { functionsOf, stageOf } from "./callGraph.ts";
import { builtinFunction } from "./effects.ts";
import { addressSpaceOf, rootIdentifier } from "./places.ts";

/**
 * Returns true if invocations that evaluate an expression at the same time may get different
 * values, or if nothing is known.
 */
export type IsDivergent = (expression: Expression) => boolean;

/**
 * Returns a predicate for the divergent values of a program. A value diverges if it depends on the
 * invocation's id in its workgroup, or on memory that invocations change. It also does if it
 * depends on the number of iterations that an invocation executed.
 *
 * Source: the divergence analysis of Coutinho et al. 2011, in a form without dominance.
 */
export function divergence(program: Program): IsDivergent {
  const analysis = new Analysis(program);
  const functions = functionsOf(program);
  for (const fn of functions) analysis.parameters(fn);
  for (let before = -1; before < analysis.size; ) {
    before = analysis.size;
    for (const fn of functions) analysis.visit(fn.body, { fn, loop: fn, diverges: false });
    // Parameters depend on callers, and results on callees.
    functions.reverse();
  }
  return (expression) => analysis.isDivergent(expression);
}

/** The context of a statement. */
interface Flow {
  readonly fn: FunctionDeclaration;
  /** The innermost loop, `switch` or function. */
  readonly loop: AnyNode;
  /** True if only some of the invocations that reconverge later may execute the statement. */
  readonly diverges: boolean;
}

/** The built-in values that all invocations of a workgroup share. */
const shared = new Set(["workgroup_id", "num_workgroups", "workgroup_index", "subgroup_size"]);

/**
 * The divergent variables, results and loops. Facts only grow; they hold once a visit of all
 * functions adds none.
 */
class Analysis {
  readonly #program: Program;
  readonly #variables = new Set<Target>();
  /** The functions whose result diverges. */
  readonly #results = new Set<Target>();
  /** The loops that invocations leave or continue at different times. */
  readonly #loops = new Set<AnyNode>();

  constructor(program: Program) {
    this.#program = program;
  }

  get size(): number {
    return this.#variables.size + this.#results.size + this.#loops.size;
  }

  /** Learns the parameters of an entry point, which are built-in values. */
  parameters(fn: FunctionDeclaration): void {
    if (!stageOf(fn)) return;
    for (const parameter of fn.parameters) {
      if (!shared.has(builtinValueOf(parameter.attributes))) this.#variables.add(parameter);
    }
  }

  isDivergent(expression: Expression): boolean {
    if (expression.kind === "identifier") {
      const target = this.#program.targetOf(expression);
      return target !== undefined && this.#isDivergentTarget(target);
    }
    if (expression.kind === "call") {
      const name = builtinFunction(this.#program, expression);
      if (name === "arrayLength" || name === "workgroupUniformLoad") return false;
      if (name !== undefined && /^(atomic|subgroup|quad)/.test(name)) return true;
      const callee = this.#program.targetOf(expression.callee);
      if (callee && this.#results.has(callee)) return true;
      return expression.args.some((arg) => this.isDivergent(arg));
    }
    return children(expression).some((child) => isExpression(child) && this.isDivergent(child));
  }

  #isDivergentTarget(target: Target): boolean {
    if (target.kind !== "globalVariable") return this.#variables.has(target);
    const access = target.qualifiers[1];
    const isChanged = access?.kind === "identifier" && access.name !== "read";
    return isChanged || !["storage", "uniform", "handle"].includes(addressSpaceOf(target));
  }

  visit(node: AnyNode, flow: Flow): void {
    this.#note(node as Statement, flow);
    const inner = this.#insideOf(node, flow);
    for (const child of children(node)) {
      if (!isExpression(child)) this.visit(child, inner);
      else this.#calls(child);
    }
  }

  /** Returns the context of a node's children. */
  #insideOf(node: AnyNode, flow: Flow): Flow {
    switch (node.kind) {
      case "if":
        return { ...flow, diverges: flow.diverges || this.isDivergent(node.condition) };
      case "switch":
        return { ...flow, diverges: flow.diverges || this.isDivergent(node.selector) };
      case "for":
      case "while":
      case "loop": {
        const condition = node.kind === "loop" ? node.breakIf : node.condition;
        if (condition && this.isDivergent(condition)) this.#loops.add(node);
        return { ...flow, loop: node, diverges: flow.diverges || this.#loops.has(node) };
      }
      default:
        return flow;
    }
  }

  #note(statement: Statement, { fn, loop, diverges }: Flow): void {
    switch (statement.kind) {
      case "let":
      case "var":
        if (statement.initializer && this.isDivergent(statement.initializer)) this.#variables.add(statement);
        break;
      case "assign":
        if (statement.target && (diverges || this.isDivergent(statement.value)))
          this.#assigned(statement.target);
        else if (statement.target && this.#hasDivergentIndex(statement.target))
          this.#assigned(statement.target);
        break;
      case "increment":
        if (diverges) this.#assigned(statement.target);
        break;
      case "return":
        if (statement.value && (diverges || this.isDivergent(statement.value))) this.#results.add(fn);
        break;
      case "break":
      case "continue":
        if (diverges) this.#loops.add(loop);
    }
  }

  #hasDivergentIndex(place: Expression): boolean {
    if (place.kind === "index") return this.isDivergent(place.index) || this.#hasDivergentIndex(place.base);
    return place.kind === "memberAccess" && this.#hasDivergentIndex(place.base);
  }

  #assigned(place: Expression): void {
    const root = rootIdentifier(place);
    const target = root && this.#program.targetOf(root);
    if (target) this.#variables.add(target);
  }

  /** Learns the arguments of calls, and the variables that a pointer lets others assign. */
  #calls(expression: Expression): void {
    walk(expression, (node) => {
      if (node.kind === "unary" && node.operator === "&") this.#assigned(node.operand);
      const callee = node.kind === "call" ? this.#program.targetOf(node.callee) : undefined;
      if (node.kind !== "call" || callee?.kind !== "function") return;
      callee.parameters.forEach((parameter, i) => {
        if (this.isDivergent(node.args[i]!)) this.#variables.add(parameter);
      });
    });
  }
}

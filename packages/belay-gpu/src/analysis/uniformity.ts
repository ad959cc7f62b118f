/** Computes the values that must be equal in all invocations of a workgroup. */
import type { Expression, FunctionDeclaration } from "../wgsl/ast.ts";
import type { Program, Target } from "../wgsl/program.ts";
import { type AnyNode, children, walk } from "../wgsl/traverse.ts";
import { functionsOf } from "./callGraph.ts";
import { builtinFunction } from "./effects.ts";
import { rootIdentifier } from "./places.ts";

/**
 * The parts of a program that WGSL requires to be uniform. The sets may be larger than necessary.
 */
export interface Uniformity {
  /**
   * The local variables and parameters that decide whether a collective operation is reached, or on
   * which memory `workgroupUniformLoad` acts. WGSL rejects a module in which their values may
   * depend on the invocation, so no such value may enter their computation.
   */
  readonly variables: ReadonlySet<Target>;
  /** The expressions whose values must not depend on the invocation. */
  readonly expressions: ReadonlySet<Expression>;
  /** The nodes that either all invocations reach or none. */
  readonly uniformlyReached: ReadonlySet<AnyNode>;
}

/**
 * Returns the uniformity requirements of a program. Operations whose uniformity diagnostic the
 * module turns off require nothing. Source: WGSL specification, "Uniformity".
 */
export function uniformity(program: Program): Uniformity {
  const known = results.get(program);
  if (known) return known;
  const analysis = new Analysis(program);
  const functions = functionsOf(program);
  for (let before = -1; before < analysis.size; ) {
    before = analysis.size;
    for (const fn of functions) analysis.visit(fn, fn, fn);
    // Arguments depend on the use of parameters in callees, and results on their use in callers.
    functions.reverse();
  }
  results.set(program, analysis);
  return analysis;
}

/** The results by program, as each of its kernels asks for them. */
const results = new WeakMap<Program, Uniformity>();

/** The properties of a node that matter for the statements around it. */
interface Reach {
  /** True if the node contains something that all invocations must reach, or none. */
  readonly anchored: boolean;
  /** The loops and functions that the node may leave. */
  readonly left: ReadonlySet<AnyNode>;
}

const nothing: ReadonlySet<AnyNode> = new Set();

/**
 * The requirements found so far. Facts only grow; they hold once a visit of all functions adds
 * none.
 */
class Analysis implements Uniformity {
  readonly variables = new Set<Target>();
  readonly expressions = new Set<Expression>();
  readonly uniformlyReached = new Set<AnyNode>();
  /** The functions whose results must be uniform. */
  readonly #results = new Set<FunctionDeclaration>();
  readonly #program: Program;
  readonly #collective: RegExp;

  constructor(program: Program) {
    this.#program = program;
    const isFree = program.module.directives.some(
      (each) => each.kind === "diagnostic" && each.severity === "off" && each.rule === "subgroup_uniformity",
    );
    this.#collective = isFree ? barriers : collective;
  }

  get size(): number {
    return this.variables.size + this.#results.size + this.uniformlyReached.size;
  }

  /**
   * Visits a node and its parts. Parts are visited from last to first, as uses follow the values
   * that they require to be uniform.
   */
  visit(node: AnyNode, fn: FunctionDeclaration, loop: AnyNode): Reach {
    const inner = isLoop(node) ? node : loop;
    let left = node.kind === "return" ? new Set([fn]) : isJump(node) ? new Set([loop]) : nothing;
    let anchored = this.#isAnchor(node, fn);
    for (const child of children(node).reverse()) {
      const part = this.visit(child, fn, inner);
      if (part.left.size > 0) left = new Set([...left, ...part.left]);
      anchored ||= part.anchored;
    }
    if (anchored) this.uniformlyReached.add(node);
    if (anchored || [...left].some((target) => this.uniformlyReached.has(target))) {
      for (const condition of conditionsOf(node)) this.#demand(condition);
    }
    return { anchored, left };
  }

  /**
   * Returns true if either all invocations or none must reach `node` itself. Also records the
   * values that must be uniform for that.
   */
  #isAnchor(node: AnyNode, fn: FunctionDeclaration): boolean {
    switch (node.kind) {
      case "let":
      case "var":
        if (node.initializer && this.#isPointerToUniform(node.initializer)) this.variables.add(node);
        return this.variables.has(node) && this.#demand(node.initializer);
      case "assign":
        return this.#isUniform(node.target) && this.#demand(node.target) && this.#demand(node.value);
      case "increment":
        return this.#isUniform(node.target);
      case "return":
        return this.#results.has(fn) && this.#demand(node.value);
      case "call": {
        const name = builtinFunction(this.#program, node);
        if (name === "workgroupUniformLoad") for (const arg of node.args) this.#demand(arg);
        if (name !== undefined) return this.#collective.test(name);
        const callee = this.#program.targetOf(node.callee);
        return callee?.kind === "function" && this.#isCallAnchor(node.args, callee);
      }
      default:
        return false;
    }
  }

  #isCallAnchor(args: readonly Expression[], callee: FunctionDeclaration): boolean {
    let anchored = this.uniformlyReached.has(callee);
    callee.parameters.forEach((parameter, i) => {
      const arg = args[i]!;
      if (this.#isPointerToUniform(arg)) this.variables.add(parameter);
      if (!this.variables.has(parameter)) return;
      this.#demand(arg);
      anchored = true;
    });
    return anchored;
  }

  /** Requires everything that an expression is computed from to be uniform. Always returns true. */
  #demand(expression: Expression | null): true {
    if (!expression) return true;
    this.expressions.add(expression);
    walk(expression, (node) => {
      const target = node.kind === "identifier" ? this.#program.targetOf(node) : undefined;
      if (target?.kind === "function") this.#results.add(target);
      else if (isVariable(target)) this.variables.add(target);
    });
    return true;
  }

  #isUniform(place: Expression | null): boolean {
    const root = place ? rootIdentifier(place) : undefined;
    const target = root && this.#program.targetOf(root);
    return target !== undefined && this.variables.has(target);
  }

  #isPointerToUniform(expression: Expression): boolean {
    return this.#program.typeOf(expression).kind === "pointer" && this.#isUniform(expression);
  }
}

const barriers = /Barrier$|^workgroupUniformLoad$/;
const collective = /Barrier$|^workgroupUniformLoad$|^subgroup|^quad/;

function isLoop({ kind }: AnyNode): boolean {
  return kind === "loop" || kind === "for" || kind === "while";
}

const isJump = ({ kind }: AnyNode) => kind === "break" || kind === "continue";

function conditionsOf(node: AnyNode): readonly (Expression | null)[] {
  switch (node.kind) {
    case "if":
    case "while":
    case "for":
      return [node.condition];
    case "loop":
      return [node.breakIf];
    case "switch":
      return [node.selector];
    // The left operand of a short circuit decides whether the right one is evaluated.
    case "binary":
      return node.operator === "&&" || node.operator === "||" ? [node.left] : [];
    default:
      return [];
  }
}

/**
 * Returns true for local variables and parameters. Module-scope variables are not tracked: they are
 * read-only, or no validator considers them uniform.
 */
function isVariable(target: Target | undefined): target is Target {
  return target !== undefined && ["let", "var", "parameter"].includes(target.kind);
}

/** Which values must stay the same in all invocations of a workgroup. */
import type { Expression, FunctionDeclaration } from "../wgsl/ast.ts";
import type { Program, Target } from "../wgsl/program.ts";
import { type AnyNode, children, walk } from "../wgsl/traverse.ts";
import { functionsOf } from "./callGraph.ts";
import { builtinFunction } from "./effects.ts";
import { rootIdentifier } from "./places.ts";

/** What WGSL demands to be uniform. Some that would do no harm is among it. */
export interface Uniformity {
  /**
   * The local variables and parameters that decide whether a barrier or another collective
   * operation is reached, or on what `workgroupUniformLoad` acts. WGSL refuses a module in which
   * their values could depend on the invocation, so nothing that does may enter their computation.
   */
  readonly variables: ReadonlySet<Target>;
  /** The expressions, as wholes, whose values must not depend on the invocation. */
  readonly expressions: ReadonlySet<Expression>;
  /** The nodes that all invocations must reach or none. */
  readonly anchored: ReadonlySet<AnyNode>;
}

/** Source: WGSL specification, section "Uniformity". A module that turns a diagnostic off is not held to its rule. */
export function uniformity(program: Program): Uniformity {
  const known = results.get(program);
  if (known) return known;
  const analysis = new Analysis(program);
  const functions = functionsOf(program);
  for (let before = -1; before < analysis.size; ) {
    before = analysis.size;
    for (const fn of functions) analysis.visit(fn, fn, fn);
    // Arguments depend on what functions do with parameters, and results on what callers do with
    // them.
    functions.reverse();
  }
  results.set(program, analysis);
  return analysis;
}

/** Each kernel of a program asks anew. */
const results = new WeakMap<Program, Uniformity>();

/** The variables of `uniformity`. */
export const uniformVariables = (program: Program): ReadonlySet<Target> => uniformity(program).variables;

/** What follows from a node for the statements around it. */
interface Reach {
  /** Something in it has to be reached by all invocations or none. */
  readonly anchored: boolean;
  /** The loops and functions that it may leave. */
  readonly left: ReadonlySet<AnyNode>;
}

const nothing: ReadonlySet<AnyNode> = new Set();

/** Facts that only grow; they hold once a visit of all functions adds none. */
class Analysis implements Uniformity {
  readonly variables = new Set<Target>();
  readonly expressions = new Set<Expression>();
  readonly anchored = new Set<AnyNode>();
  /** Functions whose result is uniform. */
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
    return this.variables.size + this.#results.size + this.anchored.size;
  }

  /** From the end on, as what a value goes into comes behind it. */
  visit(node: AnyNode, fn: FunctionDeclaration, loop: AnyNode): Reach {
    const inner = isLoop(node) ? node : loop;
    let left = node.kind === "return" ? new Set([fn]) : isJump(node) ? new Set([loop]) : nothing;
    let anchored = this.#isAnchor(node, fn);
    for (const child of children(node).reverse()) {
      const part = this.visit(child, fn, inner);
      if (part.left.size > 0) left = new Set([...left, ...part.left]);
      anchored ||= part.anchored;
    }
    if (anchored) this.anchored.add(node);
    if (anchored || [...left].some((target) => this.anchored.has(target))) {
      for (const condition of conditionsOf(node)) this.#demand(condition);
    }
    return { anchored, left };
  }

  /**
   * Whether invocations must agree on reaching `node` itself; demands what they must agree on for
   * it.
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
    let anchored = this.anchored.has(callee);
    callee.parameters.forEach((parameter, i) => {
      const arg = args[i]!;
      if (this.#isPointerToUniform(arg)) this.variables.add(parameter);
      if (!this.variables.has(parameter)) return;
      this.#demand(arg);
      anchored = true;
    });
    return anchored;
  }

  /** Makes all that goes into an expression uniform. Always true. */
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
    // The right operand of a short circuit is reached when the left one says so.
    case "binary":
      return node.operator === "&&" || node.operator === "||" ? [node.left] : [];
    default:
      return [];
  }
}

/** Variables of a module are read-only, or else uniform for no validator, and need no care. */
function isVariable(target: Target | undefined): target is Target {
  return target !== undefined && ["let", "var", "parameter"].includes(target.kind);
}

/**
 * Finds pairs of accesses to one variable that conflict: one follows the other on some path without
 * a barrier between.
 */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { Expression, FunctionDeclaration, GlobalVariable, Identifier } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, children, isExpression } from "../wgsl/traverse.ts";
import type { AddressSpace } from "../wgsl/types.ts";
import {
  type AccessOperations,
  type AccessSummary,
  noAccesses,
  runsOnce,
  unionOf,
  withJumps,
} from "./accessSummary.ts";
import { commutingClass } from "./commutingClass.ts";
import { builtinFunction } from "./effects.ts";
import { addressSpaceOf, rootVariable } from "./places.ts";

/** The built-in functions that complete all earlier accesses of a workgroup to an address space. */
export const barriers: ReadonlyMap<AddressSpace, readonly string[]> = new Map([
  ["workgroup", ["workgroupBarrier", "workgroupUniformLoad"]],
  ["storage", ["storageBarrier"]],
]);

/** Two accesses to one variable, of which the second follows the first on some path. */
export interface ConflictingAccesses {
  readonly variable: GlobalVariable;
  readonly earlier: Span;
  readonly later: Span;
}

/** The definition of a conflict, and the receiver of those found. */
export interface ConflictRules {
  /** The kind of accesses to consider: plain loads and stores, or atomic operations. */
  readonly watched: "plain" | "atomic";
  readonly space: AddressSpace;
  /**
   * The built-in functions that separate accesses: those before them never conflict with those
   * after.
   */
  readonly separators: readonly string[];
  /** Returns true if the second operation conflicts with the first. */
  conflicts(earlier: string, later: string): boolean;
  report(sequence: ConflictingAccesses): void;
}

/**
 * Reports the conflicting accesses on any path through a function and the functions that it calls.
 */
export class ConflictAnalysis {
  readonly #program: Program;
  readonly #watch: ConflictRules;
  readonly #functions = new Map<FunctionDeclaration, AccessSummary>();

  constructor(program: Program, watch: ConflictRules) {
    this.#program = program;
    this.#watch = watch;
  }

  ofFunction(fn: FunctionDeclaration): AccessSummary {
    const known = this.#functions.get(fn);
    if (known) return known;
    const accesses = withJumps(fn.body, this.#of(fn.body));
    this.#functions.set(fn, accesses);
    return accesses;
  }

  #of(node: AnyNode): AccessSummary {
    if (isExpression(node)) return this.#ofExpression(node);
    switch (node.kind) {
      case "assign": {
        const value = this.#ofExpression(node.value);
        if (!node.target) return value;
        const operands = this.#then(this.#ofPlace(node.target), value);
        const loaded =
          node.operator === "=" ? operands : this.#then(this.#ofExpression(node.target), operands);
        return this.#then(loaded, this.#store(node.target));
      }
      case "increment":
        return this.#then(this.#ofExpression(node.target), this.#store(node.target));
      case "if": {
        const branches = this.#either(
          this.#of(node.then),
          node.otherwise ? this.#of(node.otherwise) : noAccesses,
        );
        return this.#then(this.#of(node.condition), branches);
      }
      case "switch": {
        const clauses = node.clauses.map((clause) => this.#of(clause.body));
        const branches = clauses.reduce((a, b) => this.#either(a, b));
        return this.#then(this.#of(node.selector), withJumps(node, branches));
      }
      case "for":
      case "while":
      case "loop":
        return this.#ofLoop(node);
      default:
        return this.#inOrder(children(node));
    }
  }

  /**
   * Returns the summary of any number of iterations. Accesses at the end of one iteration precede
   * those at the start of the next.
   */
  #ofLoop(loop: Extract<AnyNode, { kind: "for" | "while" | "loop" }>): AccessSummary {
    const before = loop.kind === "for" && loop.initializer ? this.#of(loop.initializer) : noAccesses;
    const condition = loop.kind !== "loop" && loop.condition ? this.#of(loop.condition) : noAccesses;
    const after = [
      loop.kind === "for" && loop.update,
      loop.kind === "loop" && loop.continuing,
      loop.kind === "loop" && loop.breakIf,
    ];
    // A `continue` may end the body after any of its statements.
    const body = withJumps(loop.body, this.#of(loop.body));
    const end = this.#inOrder(after.filter((node) => node !== false && node !== null));
    const rounds = withJumps(loop, this.#then(condition, this.#then(body, end)));
    if (!runsOnce(loop)) this.#then(rounds, rounds);
    return this.#then(before, this.#then({ ...rounds, isBarrierFree: true }, condition));
  }

  #ofExpression(expression: Expression): AccessSummary {
    if (expression.kind === "identifier") return this.#load(expression);
    if (expression.kind !== "call") return this.#inOrder(children(expression));
    const operation = builtinFunction(this.#program, expression);
    if (operation && this.#watch.separators.includes(operation)) {
      return this.#then(this.#inOrder(expression.args), { ...noAccesses, isBarrierFree: false });
    }
    const [first, ...others] = expression.args;
    if (first && (operation === "arrayLength" || operation?.startsWith("atomic"))) {
      const operands = this.#then(this.#ofPlace(first), this.#inOrder(others));
      if (operation === "arrayLength") return operands;
      const commuting = commutingClass(this.#program, expression, operation) ?? operation;
      return this.#then(operands, this.#access(first, "atomic", commuting));
    }
    const target = this.#program.targetOf(expression.callee);
    const called = target?.kind === "function" ? this.ofFunction(target) : noAccesses;
    return this.#then(this.#inOrder(expression.args), called);
  }

  /** Returns the accesses of a place's indices; the place itself is not loaded. */
  #ofPlace(place: Expression): AccessSummary {
    if (place.kind === "identifier") return noAccesses;
    if (place.kind !== "index") return this.#inOrder(children(place), (child) => this.#ofPlace(child));
    return this.#then(this.#ofPlace(place.base), this.#ofExpression(place.index));
  }

  #load(identifier: Identifier): AccessSummary {
    return this.#access(identifier, "plain", "load");
  }

  #store(place: Expression): AccessSummary {
    return this.#access(place, "plain", "store");
  }

  #access(place: Expression, kind: "plain" | "atomic", operation: string): AccessSummary {
    const variable = rootVariable(this.#program, place)?.variable;
    const { watched, space } = this.#watch;
    if (kind !== watched || !variable || addressSpaceOf(variable) !== space) return noAccesses;
    const operations = new Map([[variable, new Map([[operation, place.span]])]]);
    return { first: operations, last: operations, all: operations, isBarrierFree: true };
  }

  #inOrder(nodes: readonly AnyNode[], of = (node: Expression) => this.#of(node)): AccessSummary {
    return nodes.reduce<AccessSummary>(
      (before, node) => this.#then(before, of(node as Expression)),
      noAccesses,
    );
  }

  /** Reports conflicts between the operations of one piece of code and those of a later one. */
  #meet(a: AccessOperations, b: AccessOperations): void {
    const { conflicts: disturbs, report } = this.#watch;
    for (const [variable, operations] of b) {
      for (const [before, earlier] of a.get(variable) ?? []) {
        for (const [after, later] of operations) {
          if (disturbs(before, after)) report({ variable, earlier, later });
        }
      }
    }
  }

  #then(a: AccessSummary, b: AccessSummary): AccessSummary {
    this.#meet(a.last, b.first);
    return {
      first: a.isBarrierFree ? unionOf(a.first, b.first) : a.first,
      last: b.isBarrierFree ? unionOf(a.last, b.last) : b.last,
      all: unionOf(a.all, b.all),
      isBarrierFree: a.isBarrierFree && b.isBarrierFree,
    };
  }

  #either(a: AccessSummary, b: AccessSummary): AccessSummary {
    // Some invocations may take one branch while others take the other one.
    if (this.#watch.watched === "atomic") {
      this.#meet(a.first, b.first);
      this.#meet(a.last, b.last);
    }
    return {
      first: unionOf(a.first, b.first),
      last: unionOf(a.last, b.last),
      all: unionOf(a.all, b.all),
      isBarrierFree: a.isBarrierFree || b.isBarrierFree,
    };
  }
}

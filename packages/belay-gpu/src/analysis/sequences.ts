/** Accesses to one variable that follow one another on some path, with no barrier between. */
import type { Span } from "../diagnostics/diagnostic.ts";
import type { Expression, FunctionDeclaration, GlobalVariable, Identifier } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type AnyNode, children, isExpression } from "../wgsl/traverse.ts";
import type { AddressSpace } from "../wgsl/types.ts";
import {
  type AccessSummary,
  leaving,
  nothing,
  type Operations,
  runsOnce,
  together,
} from "./accessSummary.ts";
import { commutingClass } from "./commutingClass.ts";
import { builtinFunction } from "./effects.ts";
import { addressSpaceOf, rootVariable } from "./places.ts";

/** The built-in functions after which all earlier accesses of a workgroup to a space are done. */
export const barriers: ReadonlyMap<AddressSpace, readonly string[]> = new Map([
  ["workgroup", ["workgroupBarrier", "workgroupUniformLoad"]],
  ["storage", ["storageBarrier"]],
]);

/** Two accesses to one variable, the second on some path behind the first. */
export interface Sequence {
  readonly variable: GlobalVariable;
  readonly earlier: Span;
  readonly later: Span;
}

/** What is looked for. */
export interface Watch {
  /** Plain loads and stores, or atomic operations. */
  readonly watched: "plain" | "atomic";
  readonly space: AddressSpace;
  /** The built-in functions that keep what is before them from disturbing what is behind. */
  readonly separators: readonly string[];
  disturbs(earlier: string, later: string): boolean;
  report(sequence: Sequence): void;
}

/**
 * Reports which accesses to a variable meet, with no separator between, on some path through a
 * function and what it calls.
 */
export class SequenceAnalysis {
  readonly #program: Program;
  readonly #watch: Watch;
  readonly #functions = new Map<FunctionDeclaration, AccessSummary>();

  constructor(program: Program, watch: Watch) {
    this.#program = program;
    this.#watch = watch;
  }

  ofFunction(fn: FunctionDeclaration): AccessSummary {
    const known = this.#functions.get(fn);
    if (known) return known;
    const accesses = leaving(fn.body, this.#of(fn.body));
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
          node.otherwise ? this.#of(node.otherwise) : nothing,
        );
        return this.#then(this.#of(node.condition), branches);
      }
      case "switch": {
        const clauses = node.clauses.map((clause) => this.#of(clause.body));
        const branches = clauses.reduce((a, b) => this.#either(a, b));
        return this.#then(this.#of(node.selector), leaving(node, branches));
      }
      case "for":
      case "while":
      case "loop":
        return this.#ofLoop(node);
      default:
        return this.#inOrder(children(node));
    }
  }

  /** Any number of rounds: what a round leaves meets what the next one does. */
  #ofLoop(loop: Extract<AnyNode, { kind: "for" | "while" | "loop" }>): AccessSummary {
    const before = loop.kind === "for" && loop.initializer ? this.#of(loop.initializer) : nothing;
    const condition = loop.kind !== "loop" && loop.condition ? this.#of(loop.condition) : nothing;
    const after = [
      loop.kind === "for" && loop.update,
      loop.kind === "loop" && loop.continuing,
      loop.kind === "loop" && loop.breakIf,
    ];
    // A `continue` may go on from anywhere in the body.
    const body = leaving(loop.body, this.#of(loop.body));
    const end = this.#inOrder(after.filter((node) => node !== false && node !== null));
    const rounds = leaving(loop, this.#then(condition, this.#then(body, end)));
    if (!runsOnce(loop)) this.#then(rounds, rounds);
    return this.#then(before, this.#then({ ...rounds, open: true }, condition));
  }

  #ofExpression(expression: Expression): AccessSummary {
    if (expression.kind === "identifier") return this.#load(expression);
    if (expression.kind !== "call") return this.#inOrder(children(expression));
    const operation = builtinFunction(this.#program, expression);
    if (operation && this.#watch.separators.includes(operation)) {
      return this.#then(this.#inOrder(expression.args), { ...nothing, open: false });
    }
    const [first, ...others] = expression.args;
    if (first && (operation === "arrayLength" || operation?.startsWith("atomic"))) {
      const operands = this.#then(this.#ofPlace(first), this.#inOrder(others));
      if (operation === "arrayLength") return operands;
      const commuting = commutingClass(this.#program, expression, operation) ?? operation;
      return this.#then(operands, this.#access(first, "atomic", commuting));
    }
    const target = this.#program.targetOf(expression.callee);
    const called = target?.kind === "function" ? this.ofFunction(target) : nothing;
    return this.#then(this.#inOrder(expression.args), called);
  }

  /** What the indices of a place load; the place itself is not loaded. */
  #ofPlace(place: Expression): AccessSummary {
    if (place.kind === "identifier") return nothing;
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
    if (kind !== watched || !variable || addressSpaceOf(variable) !== space) return nothing;
    const operations = new Map([[variable, new Map([[operation, place.span]])]]);
    return { first: operations, last: operations, all: operations, open: true };
  }

  #inOrder(nodes: readonly AnyNode[], of = (node: Expression) => this.#of(node)): AccessSummary {
    return nodes.reduce<AccessSummary>((before, node) => this.#then(before, of(node as Expression)), nothing);
  }

  /** Reports what one piece of code does to what another one has done. */
  #meet(a: Operations, b: Operations): void {
    const { disturbs, report } = this.#watch;
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
      first: a.open ? together(a.first, b.first) : a.first,
      last: b.open ? together(a.last, b.last) : b.last,
      all: together(a.all, b.all),
      open: a.open && b.open,
    };
  }

  #either(a: AccessSummary, b: AccessSummary): AccessSummary {
    // Some invocations take one branch while others take the other.
    if (this.#watch.watched === "atomic") {
      this.#meet(a.first, b.first);
      this.#meet(a.last, b.last);
    }
    return {
      first: together(a.first, b.first),
      last: together(a.last, b.last),
      all: together(a.all, b.all),
      open: a.open || b.open,
    };
  }
}

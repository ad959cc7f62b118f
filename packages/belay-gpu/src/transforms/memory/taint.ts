/** The locals that may hold values from loads. */

import { rootIdentifier } from "../../analysis/places.ts";
import type { Expression, Statement } from "../../wgsl/ast.ts";
import type { Program, Target } from "../../wgsl/program.ts";
import { type AnyNode, children, contains, isExpression, walk } from "../../wgsl/traverse.ts";

/** The analysis of statements of one function. */
export class Taint {
  readonly #program: Program;
  readonly #loads: (node: AnyNode) => boolean;
  readonly #tainted: Set<Target>;

  /** Starts with `initially`: the variables that may hold loaded values before the statements. */
  constructor(program: Program, loads: (node: AnyNode) => boolean, initially: Iterable<Target> = []) {
    this.#program = program;
    this.#loads = loads;
    this.#tainted = new Set(initially);
  }

  /**
   * Returns the tainted locals after statements; undefined if loaded values decide how often a loop
   * runs.
   */
  of(statements: readonly Statement[]): ReadonlySet<Target> | undefined {
    for (let before = -1; before < this.#tainted.size; ) {
      before = this.#tainted.size;
      for (const each of statements) this.#visit(each, false);
    }
    let isBounded = true;
    for (const each of statements) {
      walk(each, (node) => {
        if (node.kind !== "for") return;
        const { initializer, condition, update } = node;
        const isFree = (part: AnyNode | null) => part && !this.#loads(part) && !this.#names(part);
        if (!isFree(condition) || (update && !isFree(update))) isBounded = false;
        // A load in the initializer is checked in its place.
        if (initializer && this.#names(initializer)) isBounded = false;
      });
    }
    return isBounded ? this.#tainted : undefined;
  }

  #visit(node: AnyNode, inDoubt: boolean): void {
    if (isExpression(node)) return;
    const isDoubtful = inDoubt || (node.kind === "if" && this.isTainted(node.condition));
    if (isDeclaration(node) && node.initializer && (isDoubtful || this.isTainted(node.initializer)))
      this.#tainted.add(node);
    if (node.kind === "assign" || node.kind === "increment") {
      const target = node.target && targetOf(this.#program, node.target);
      if (target && (isDoubtful || this.isTainted(node))) this.#tainted.add(target);
    }
    for (const child of children(node))
      if (node.kind !== "for" || child !== node.initializer) this.#visit(child, isDoubtful);
  }

  /** Returns true if a node loads, or names a tainted local. */
  isTainted(node: AnyNode): boolean {
    return this.#loads(node) || this.#names(node);
  }

  #names(node: AnyNode): boolean {
    return contains(node, (each) => {
      const target = each.kind === "identifier" ? this.#program.targetOf(each) : undefined;
      return target !== undefined && this.#tainted.has(target);
    });
  }
}

/** Returns the earlier variables that a statement changes. */
export function changedIn(program: Program, statement: Statement): Target[] {
  const inner = new Set<Target>();
  const changed = new Set<Target>();
  walk(statement, (node) => {
    if (isDeclaration(node)) inner.add(node);
    const isChange = node.kind === "assign" || node.kind === "increment";
    const target = isChange && node.target && targetOf(program, node.target);
    if (target) changed.add(target);
  });
  return [...changed].filter((each) => !inner.has(each));
}

export const isDeclaration = (node: AnyNode) => node.kind === "let" || node.kind === "var";

function targetOf(program: Program, place: Expression): Target | undefined {
  const root = rootIdentifier(place);
  return root && program.targetOf(root);
}

/**
 * Which statements may run with what was loaded before anybody has looked whether it is right: those that can run again, and then
 * set right all that they computed.
 */

import { reachableFrom } from "../../analysis/callGraph.ts";
import { builtinFunction } from "../../analysis/effects.ts";
import { rootIdentifier } from "../../analysis/places.ts";
import type { CallExpression, Expression, Statement, VarStatement } from "../../wgsl/ast.ts";
import type { Program, Target } from "../../wgsl/program.ts";
import { type AnyNode, children, isExpression, walk } from "../../wgsl/traverse.ts";

/** How statements run again. */
export interface Replay {
  /** Locals that they declare and that have to get their values again. */
  readonly renewed: ReadonlySet<Target>;
  /** Variables from before that they change, and that first have to be what they were. */
  readonly restored: readonly VarStatement[];
}

export interface ReplaysOptions {
  /** Whether an expression is a load that can be looked at later. */
  readonly isLoad: (expression: Expression) => boolean;
  /** Whether an expression must be evaluated once, where it stands. */
  readonly isFixed: (expression: Expression) => boolean;
  /** Locals that WGSL demands to be uniform. */
  readonly uniform: ReadonlySet<Target>;
}

export class Replays {
  readonly #program: Program;
  readonly #options: ReplaysOptions;

  constructor(program: Program, options: ReplaysOptions) {
    this.#program = program;
    this.#options = options;
  }

  /** Whether loads stand in the blocks of a statement. */
  loadsInside(statement: Statement): boolean {
    const blocks = children(statement).filter((child) => child.kind === "block" || child.kind === "if");
    return isBranching(statement) && blocks.some((block) => this.#loads(block));
  }

  /** How statements of one block run again; undefined where they may not. */
  of(statements: readonly Statement[]): Replay | undefined {
    const isAllowed = statements.every(
      (each) => this.#isAllowed(each) && !(isBranching(each) && this.#isFixed(each)),
    );
    const tainted = isAllowed && new Taint(this.#program, (node) => this.#loads(node)).of(statements);
    if (!tainted) return undefined;
    const declared = new Set<Target>(statements.filter(isDeclaration));
    const changed = new Set(statements.flatMap((each) => changedIn(this.#program, each)));
    const renewed = new Set([...declared].filter((each) => changed.has(each) || tainted.has(each)));
    const restored = [...changed].filter((each) => !declared.has(each));
    const canChange = [...renewed, ...restored].every((each) => !this.#options.uniform.has(each));
    const canCopy = restored.every(
      (each): each is VarStatement =>
        each.kind === "var" && this.#program.declaredTypeOf(each).kind !== "array",
    );
    return canChange && canCopy ? { renewed, restored: restored as VarStatement[] } : undefined;
  }

  /** Whether there is a load in a node that can be looked at later. */
  #loads(node: AnyNode): boolean {
    let found = false;
    walk(node, (each) => {
      if (each.kind === "unary" && each.operator === "&") return false;
      if (isExpression(each) && this.#options.isLoad(each)) found = true;
      return !found;
    });
    return found;
  }

  /** Whether a statement leaves nothing but what locals hold, and is over whatever was loaded. */
  #isAllowed(statement: Statement): boolean {
    let isAllowed = true;
    walk(statement, (node) => {
      if (isExpression(node)) isAllowed &&= node.kind !== "call" || !this.#leaves(node);
      else if (!allowed.has(node.kind)) isAllowed = false;
      else if (node.kind === "let" && this.#program.typeOf(node.initializer).kind === "pointer")
        isAllowed = false;
      return isAllowed;
    });
    return isAllowed;
  }

  #isFixed(statement: Statement): boolean {
    let isFixed = false;
    walk(statement, (node) => {
      if (isExpression(node) && this.#options.isFixed(node)) isFixed = true;
      return !isFixed;
    });
    return isFixed;
  }

  /** Whether a call needs other lanes, or has loops, of which nobody knows how long what was loaded makes them. */
  #leaves(call: CallExpression): boolean {
    const name = builtinFunction(this.#program, call);
    if (name !== undefined) return /^(subgroup|quad)/.test(name);
    const target = this.#program.targetOf(call.callee);
    if (target?.kind !== "function") return false;
    let found = false;
    for (const { body } of reachableFrom(this.#program, [target])) {
      walk(body, (node) => {
        if (/^(loop|for|while)$/.test(node.kind)) found = true;
        if (node.kind === "call" && /^(subgroup|quad)/.test(builtinFunction(this.#program, node) ?? ""))
          found = true;
      });
    }
    return found;
  }
}

/** What may hold values that come from loads. */
class Taint {
  readonly #program: Program;
  readonly #loads: (node: AnyNode) => boolean;
  readonly #tainted = new Set<Target>();

  constructor(program: Program, loads: (node: AnyNode) => boolean) {
    this.#program = program;
    this.#loads = loads;
  }

  /** The locals; undefined where loads decide how often a loop goes round. */
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
        // What it loads is looked at there.
        if (initializer && this.#names(initializer)) isBounded = false;
      });
    }
    return isBounded ? this.#tainted : undefined;
  }

  #visit(node: AnyNode, inDoubt: boolean): void {
    if (isExpression(node)) return;
    const isDoubtful = inDoubt || (node.kind === "if" && this.#isTainted(node.condition));
    if (isDeclaration(node) && node.initializer && (isDoubtful || this.#isTainted(node.initializer)))
      this.#tainted.add(node);
    if (node.kind === "assign" || node.kind === "increment") {
      const target = node.target && targetOf(this.#program, node.target);
      if (target && (isDoubtful || this.#isTainted(node))) this.#tainted.add(target);
    }
    for (const child of children(node))
      if (node.kind !== "for" || child !== node.initializer) this.#visit(child, isDoubtful);
  }

  #isTainted(node: AnyNode): boolean {
    return this.#loads(node) || this.#names(node);
  }

  #names(node: AnyNode): boolean {
    let found = false;
    walk(node, (each) => {
      const target = each.kind === "identifier" ? this.#program.targetOf(each) : undefined;
      if (target && this.#tainted.has(target)) found = true;
    });
    return found;
  }
}

const allowed = new Set<AnyNode["kind"]>(["let", "var", "assign", "increment", "block", "if", "for"]);

const isBranching = ({ kind }: Statement) => kind === "if" || kind === "for";
const isDeclaration = (node: AnyNode) => node.kind === "let" || node.kind === "var";

function targetOf(program: Program, place: Expression): Target | undefined {
  const root = rootIdentifier(place);
  return root && program.targetOf(root);
}

/** What a statement changes of what was there before it. */
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

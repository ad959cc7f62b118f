/**
 * The statements that may run with loaded values before these are checked. If the check fails, they
 * run again and replace all that they computed.
 */

import { reachableFrom, variablesOf } from "../../analysis/callGraph.ts";
import { builtinFunction } from "../../analysis/effects.ts";
import { addressSpaceOf, type Place, placeOf } from "../../analysis/places.ts";
import type {
  CallExpression,
  Expression,
  FunctionDeclaration,
  Statement,
  VarStatement,
} from "../../wgsl/ast.ts";
import type { Program, Target } from "../../wgsl/program.ts";
import { type AnyNode, children, contains, isExpression, walk } from "../../wgsl/traverse.ts";
import { changedIn, isDeclaration, Taint } from "./taint.ts";

/** The variables that a second execution of statements concerns. */
export interface ReexecutableRegion {
  /** The locals that the statements declare and that a second execution computes again. */
  readonly renewed: ReadonlySet<Target>;
  /** The earlier variables that the statements change. A second execution first restores them. */
  readonly restored: readonly VarStatement[];
}

/** The properties of a kernel that decide which statements may run again. */
export interface ReexecutableRegionsOptions {
  /** Returns true if an expression is a load that can be checked later. */
  readonly isLoad: (expression: Expression) => boolean;
  /** Returns true if an expression must be evaluated once, in its place. */
  readonly isFixed: (expression: Expression) => boolean;
  /** The locals that WGSL requires to be uniform. */
  readonly uniform: ReadonlySet<Target>;
  /**
   * The statements that declare variables which may keep their values from one iteration to the
   * next. Copies of them would not.
   */
  readonly lasting: ReadonlySet<AnyNode>;
}

/** The analysis of one kernel's statements. */
export class ReexecutableRegions {
  readonly #program: Program;
  readonly #options: ReexecutableRegionsOptions;
  readonly #transparent = new Map<FunctionDeclaration, boolean>();

  constructor(program: Program, options: ReexecutableRegionsOptions) {
    this.#program = program;
    this.#options = options;
  }

  /** Returns true if the blocks of an `if` or `for` contain loads. */
  loadsInside(statement: Statement): boolean {
    const blocks = children(statement).filter((child) => child.kind === "block" || child.kind === "if");
    return isBranching(statement) && blocks.some((block) => this.#loads(block));
  }

  /**
   * Returns true if a function only returns values computed from loads, which its caller can check.
   */
  isTransparent(fn: FunctionDeclaration): boolean {
    const known = this.#transparent.get(fn);
    if (known !== undefined) return known;
    const isTransparent = this.#returnsLoads(fn);
    this.#transparent.set(fn, isTransparent);
    return isTransparent;
  }

  #returnsLoads({ parameters, body, returnType }: FunctionDeclaration): boolean {
    if (!returnType || !this.#loads(body) || parameters.some((each) => this.#options.uniform.has(each)))
      return false;
    const { statements } = body;
    const isLocal = statements.every((each) =>
      changedIn(this.#program, each).every(({ kind }) => kind === "var"),
    );
    if (!isLocal || !statements.every((each) => this.#isAllowed(each, allowedInFunctions))) return false;
    const taint = new Taint(this.#program, (node) => this.#loads(node), parameters);
    return !statements.some((each) => this.#isFixed(each)) && taint.of(statements) !== undefined;
  }

  /**
   * Returns the variables of a second execution of statements of one block; undefined if they may
   * not run again.
   */
  of(statements: readonly Statement[]): ReexecutableRegion | undefined {
    const isAllowed = statements.every(
      (each) =>
        this.#isAllowed(each) &&
        !(isBranching(each) && this.#isFixed(each)) &&
        !this.#options.lasting.has(each),
    );
    const taint = new Taint(this.#program, (node) => this.#loads(node));
    const tainted = isAllowed && taint.of(statements);
    if (!tainted || !this.#canStoreAgain(statements, taint)) return undefined;
    const declared = new Set<Target>(statements.filter(isDeclaration));
    const others = statements.filter((each) => !this.storeOf(each));
    const changed = new Set(others.flatMap((each) => changedIn(this.#program, each)));
    const renewed = new Set([...declared].filter((each) => changed.has(each) || tainted.has(each)));
    const restored = [...changed].filter((each) => !declared.has(each));
    const canChange = [...renewed, ...restored].every((each) => !this.#options.uniform.has(each));
    const canCopy = restored.every(
      (each): each is VarStatement =>
        each.kind === "var" && this.#program.declaredTypeOf(each).kind !== "array",
    );
    return canChange && canCopy ? { renewed, restored: restored as VarStatement[] } : undefined;
  }

  /**
   * Returns the place of a statement that only stores to a buffer; undefined for other statements.
   */
  storeOf(statement: Statement): Place | undefined {
    if (statement.kind !== "assign" || !statement.target) return undefined;
    const place = placeOf(this.#program, statement.target);
    return place && addressSpaceOf(place.variable) === "storage" ? place : undefined;
  }

  /**
   * Returns true if the stores of statements can be repeated: always to the same places, in buffers
   * that the statements do not load. Another invocation that loads such a place in between, without
   * a barrier or an atomic operation, races with the first store already.
   */
  #canStoreAgain(statements: readonly Statement[], taint: Taint): boolean {
    const stored = new Set<Target>();
    const rest: AnyNode[] = [];
    for (const each of statements) {
      const place = this.storeOf(each);
      if (!place || each.kind !== "assign") rest.push(each);
      else {
        const indices = place.steps.flatMap((step) => (step.kind === "index" ? [step.index] : []));
        if (this.#isFixed(each) || indices.some((index) => taint.isTainted(index))) return false;
        stored.add(place.variable);
        rest.push(each.value, ...indices);
      }
    }
    return stored.size === 0 || !rest.some((node) => this.#uses(node, stored));
  }

  /** Returns true if a node, or a function that it calls, names one of the variables. */
  #uses(node: AnyNode, variables: ReadonlySet<Target>): boolean {
    return contains(node, (each) => {
      const target = each.kind === "identifier" ? this.#program.targetOf(each) : undefined;
      if (target?.kind !== "function") return target !== undefined && variables.has(target);
      const used = variablesOf(this.#program, reachableFrom(this.#program, [target]));
      return [...used].some((variable) => variables.has(variable));
    });
  }

  /** Returns true if a node contains a load that can be checked later. */
  #loads(node: AnyNode): boolean {
    let found = false;
    walk(node, (each) => {
      if (each.kind === "unary" && each.operator === "&") return false;
      if (isExpression(each) && this.#options.isLoad(each)) found = true;
      return !found;
    });
    return found;
  }

  /** Returns true if a statement changes locals only, and ends whatever was loaded. */
  #isAllowed(statement: Statement, kinds = allowed): boolean {
    return !contains(statement, (node) => {
      if (isExpression(node)) return node.kind === "call" && this.#leaves(node);
      if (!kinds.has(node.kind)) return true;
      return node.kind === "let" && this.#program.typeOf(node.initializer).kind === "pointer";
    });
  }

  #isFixed(statement: Statement): boolean {
    return contains(statement, (node) => isExpression(node) && this.#options.isFixed(node));
  }

  /**
   * Returns true if a call needs other lanes, or contains loops. A wrong loaded value could make
   * loops endless.
   */
  #leaves(call: CallExpression): boolean {
    const name = builtinFunction(this.#program, call);
    if (name !== undefined) return /^(subgroup|quad)/.test(name);
    const target = this.#program.targetOf(call.callee);
    if (target?.kind !== "function" || this.#options.isLoad(call)) return false;
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

const allowed = new Set<AnyNode["kind"]>(["let", "var", "assign", "increment", "block", "if", "for"]);

const allowedInFunctions = new Set([...allowed, "return", "const"] as const);

const isBranching = ({ kind }: Statement) => kind === "if" || kind === "for";

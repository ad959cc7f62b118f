/**
 * Rewrites the accesses to protected buffers in functions as calls of functions on granules.
 *
 * Before:   let x = a[i] + a[j];   b[i] = x;
 * After:    var v = peek_1(i);
 *           var w = peek_1(j);
 *           if (bad != 0) { bad = 0; v = load_1(i); w = load_1(j); tell(); }
 *           let x = v + w;   store_1(i, x);
 *
 * Loads move before the statements that use them, as many as do not depend on each other. One
 * branch tests all their syndromes (`speculativeLoads.ts`). A load that may not be evaluated, such
 * as in the right operand of `&&`, is checked in its place.
 *
 * Indices are clamped to the arrays that the program declares, whose lengths follow from the bound
 * size. An access out of bounds never reaches padding, another buffer or a wrong check word.
 */

import { addressSpaceOf, rootIdentifier } from "../../analysis/places.ts";
import type { Uniformity } from "../../analysis/uniformity.ts";
import type { Block, CallExpression, Expression, FunctionDeclaration, Statement } from "../../wgsl/ast.ts";
import type { Program, Target } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, isExpression, mapChildren, walk } from "../../wgsl/traverse.ts";
import type { Names } from "../shared/names.ts";
import type { AccessFunctions } from "./accessFunctions.ts";
import type { FindingFunctions } from "./findingFunctions.ts";
import type { LineRuns } from "./lineRuns.ts";
import { ReexecutableRegions } from "./reexecutableRegion.ts";
import { SpeculativeLoads } from "./speculativeLoads.ts";
import { conditionally, type InPlace, type Where, WordExpressions } from "./wordExpressions.ts";

/** The functions and facts of one kernel. */
export interface WordBuffersOptions {
  readonly access: AccessFunctions;
  readonly lines: LineRuns;
  readonly findings: FindingFunctions;
  /** The values that WGSL requires to be uniform. */
  readonly uniform: Uniformity;
  /** Returns true if a call may store to memory, or wait for others. */
  readonly hasEffects: (call: CallExpression) => boolean;
  /**
   * The statements that declare variables which may keep their values from one iteration to the
   * next.
   */
  readonly lasting: ReadonlySet<AnyNode>;
}

/** The rewrite of one kernel's functions. */
export class WordBuffers {
  readonly #program: Program;
  readonly #names: Names;
  readonly #options: WordBuffersOptions;
  readonly #expressions: WordExpressions;
  readonly #replays: ReexecutableRegions;
  readonly #made = new Map<string, { readonly of: FunctionDeclaration; readonly fn: FunctionDeclaration }>();

  constructor(program: Program, names: Names, options: WordBuffersOptions) {
    const { uniform } = options;
    this.#program = program;
    this.#names = names;
    this.#options = options;
    this.#expressions = new WordExpressions(program, names, {
      ...options,
      uniform: uniform.expressions,
      isTransparent: (fn) => this.#replays.isTransparent(fn),
      madeWith: (fn, kind) => (kind === "corrected" ? fn.name : this.#functionWith(fn, kind)),
    });
    this.#replays = new ReexecutableRegions(program, {
      isLoad: (expression) => this.#expressions.isLoad(expression),
      isFixed: (expression) => this.#isFixed(expression),
      uniform: uniform.variables,
      lasting: options.lasting,
    });
  }

  function(fn: FunctionDeclaration): FunctionDeclaration {
    return { ...fn, body: this.#block(fn.body, "corrected") };
  }

  /**
   * The generated versions of functions whose callers check their loads, with the original
   * functions.
   */
  get made(): Iterable<{ readonly of: FunctionDeclaration; readonly fn: FunctionDeclaration }> {
    return this.#made.values();
  }

  #functionWith(of: FunctionDeclaration, kind: InPlace): string {
    const name = this.#names.the(`${kind}_${of.name}`);
    if (!this.#made.has(name))
      this.#made.set(name, { of, fn: structuredClone({ ...of, name, body: this.#block(of.body, kind) }) });
    return name;
  }

  #block(block: Block, where: InPlace): Block {
    if (where !== "corrected")
      return { ...block, statements: block.statements.flatMap((each) => this.#statement(each, where)) };
    const { access, lines, findings } = this.#options;
    const newRun = () =>
      new SpeculativeLoads(this.#program, this.#names, {
        lines,
        findings,
        replays: this.#replays,
        isLoad: (expression) =>
          access.checked(expression) !== undefined || this.#expressions.isLoad(expression),
      });
    const statements: Statement[] = [];
    const pure = new Set<Statement>();
    let run = newRun();
    const close = () => {
      statements.push(...run.statements());
      run = newRun();
    };
    for (const statement of block.statements) {
      if (this.#replays.loadsInside(statement)) {
        if (!run.admits(statement)) close();
        if (run.admits(statement)) {
          const made = this.#statement(statement, "peeked");
          run.appendReplayed(statement, made, structuredClone(this.#statement(statement, "repaired")));
          continue;
        }
      }
      if (this.#replays.storeOf(statement) && run.isShort && run.admits(statement)) {
        const made = this.#statement(statement, run);
        run.appendReplayed(statement, made, structuredClone(made));
        continue;
      }
      if (!run.canLoadAhead(statement)) close();
      const made = this.#statement(statement, this.#hasEffects(statement) ? "corrected" : run);
      if (statement.kind === "let" && !this.#hasEffects(statement)) for (const each of made) pure.add(each);
      const changed = this.#changedBy(statement);
      run.append(statement, made, changed);
      if (!changed) close();
    }
    close();
    return { ...block, statements: lines.stored(statements, pure) };
  }

  /** Returns true if an expression has effects, must be uniform, or is a piece of a line. */
  #isFixed(expression: Expression): boolean {
    const { access, uniform, hasEffects } = this.#options;
    if (expression.kind === "call" && hasEffects(expression)) return true;
    return uniform.expressions.has(expression) || access.checked(expression)?.pieceBytes !== undefined;
  }

  /**
   * Returns the local, or the workgroup variable, that a statement declares or assigns. Returns
   * undefined for statements that do more.
   */
  #changedBy(statement: Statement): Target | undefined {
    if (this.#hasEffects(statement)) return undefined;
    if (statement.kind === "let" || statement.kind === "var") return statement;
    if (statement.kind !== "assign" && statement.kind !== "increment") return undefined;
    const root = statement.target && rootIdentifier(statement.target);
    const target = root && this.#program.targetOf(root);
    const isShared = target?.kind === "globalVariable" && addressSpaceOf(target) === "workgroup";
    return target?.kind === "var" || isShared ? target : undefined;
  }

  #hasEffects(statement: Statement): boolean {
    let found = false;
    walk(statement, (node) => {
      if (node.kind === "block") return false;
      if (node.kind === "call" && this.#options.hasEffects(node)) found = true;
      return true;
    });
    return found;
  }

  #statement(statement: Statement, where: Where): Statement[] {
    switch (statement.kind) {
      case "block":
        return [this.#block(statement, conditionally(where))];
      case "assign": {
        const { target, value } = statement;
        if (!target || !this.#options.access.checked(target)) break;
        const { name, indices } = this.#options.access.store(target);
        const args = [...indices.map((index) => quote(index.span).expression`u32(${index})`), value];
        const stores = quote(statement.span).statements`${name}(${args});`;
        this.#options.lines.remember(stores[0]!, target, args);
        return stores;
      }
      case "callStatement": {
        const call = this.#expressions.value(statement.call, where);
        // A value that was loaded speculatively is not a call any more.
        return call.kind === "call"
          ? [{ ...statement, call }]
          : quote(statement.span).statements`_ = ${call};`;
      }
      case "if": {
        const condition = this.#expressions.value(statement.condition, where);
        const then = this.#nested(statement.then, where);
        const otherwise = statement.otherwise && this.#nested(statement.otherwise, where);
        return [{ ...statement, condition, then, otherwise } as Statement];
      }
      case "switch": {
        const selector = this.#expressions.value(statement.selector, where);
        const clauses = statement.clauses.map((clause) => ({
          ...clause,
          body: this.#nested(clause.body, where) as Block,
        }));
        return [{ ...statement, selector, clauses }];
      }
      case "loop":
      case "for":
      case "while":
        return [this.#nested(statement, where) as Statement];
    }
    return [
      mapChildren(statement, (child) =>
        isExpression(child) ? this.#expressions.value(child, where) : child,
      ),
    ];
  }

  /** Returns a node that is evaluated later or not at all. Its loads stay in it. */
  #nested(node: AnyNode, where: Where): AnyNode {
    const own = conditionally(where);
    if (node.kind === "block") return this.#block(node, own);
    if (isExpression(node)) return this.#expressions.value(node, own);
    return mapChildren(node, (child) => {
      // The start of a loop may decide how long it runs.
      const isStart = node.kind === "for" && child === node.initializer;
      return this.#nested(child, isStart ? "corrected" : own);
    });
  }
}

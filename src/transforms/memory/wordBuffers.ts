/**
 * Rewrites the accesses to coded buffers in functions as calls of functions on granules.
 *
 * Before:  let x = a[i] + a[j];   b[i] = x;
 * After:   var v = peek_1(i); var w = peek_1(j);
 *          if (bad != 0) { bad = 0; v = load_1(i); w = load_1(j); tell(); }
 *          let x = v + w;   store_1(i, x);
 *
 * Loads run ahead of the statements that use them, as many as do not depend on each other, with one look at their syndromes
 * together (`loadRun.ts`). What may not be evaluated, such as the right operand of `&&`, is checked where it stands.
 *
 * Indices are clamped to the arrays that the program has, whose lengths follow from the size that the program has bound:
 * what is out of bounds there never reaches padding, another buffer or a wrong check word.
 */

import { builtinFunction } from "../../analysis/effects.ts";
import { rootIdentifier } from "../../analysis/places.ts";
import type { Uniformity } from "../../analysis/uniformity.ts";
import type { Block, CallExpression, Expression, FunctionDeclaration, Statement } from "../../wgsl/ast.ts";
import type { Program, Target } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, isExpression, mapChildren, walk } from "../../wgsl/traverse.ts";
import type { Names } from "../names.ts";
import type { AccessFunctions } from "./accessFunctions.ts";
import type { Findings, LoadKind } from "./findings.ts";
import type { LineRuns } from "./lineRuns.ts";
import { LoadRun } from "./loadRun.ts";
import { Replays } from "./replay.ts";

export interface WordBuffersOptions {
  readonly access: AccessFunctions;
  readonly lines: LineRuns;
  readonly findings: Findings;
  readonly uniform: Uniformity;
  /** Whether a call may store to memory, or wait for others. */
  readonly hasEffects: (call: CallExpression) => boolean;
}

export class WordBuffers {
  readonly #program: Program;
  readonly #names: Names;
  readonly #options: WordBuffersOptions;
  readonly #replays: Replays;
  /** Where loads may run ahead to now. */
  #run: LoadRun | undefined;
  /** How loads are made where a statement is looked at as a whole. */
  #kind: "peeked" | "repaired" | undefined;

  constructor(program: Program, names: Names, options: WordBuffersOptions) {
    this.#program = program;
    this.#names = names;
    this.#options = options;
    this.#replays = new Replays(program, {
      isLoad: (expression) => this.#isLoad(expression),
      isFixed: (expression) => this.#isFixed(expression),
      uniform: options.uniform.variables,
    });
  }

  function(fn: FunctionDeclaration): FunctionDeclaration {
    return { ...fn, body: this.#block(fn.body) };
  }

  #block(block: Block): Block {
    if (this.#kind)
      return { ...block, statements: block.statements.flatMap((each) => this.#statement(each)) };
    const { lines, findings } = this.#options;
    const newRun = () => new LoadRun(this.#program, this.#names, { lines, findings, replays: this.#replays });
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
          const [peeked, repaired] = [this.#whole(statement, "peeked"), this.#whole(statement, "repaired")];
          run.appendLoading(statement, peeked, repaired);
          continue;
        }
      }
      if (!this.#isIndependent(run, statement)) close();
      this.#run = this.#hasEffects(statement) ? undefined : run;
      const made = this.#statement(statement);
      if (statement.kind === "let" && !this.#hasEffects(statement)) for (const each of made) pure.add(each);
      this.#run = undefined;
      const changed = this.#changedBy(statement);
      run.append(statement, made, changed);
      if (!changed) close();
    }
    close();
    return { ...block, statements: lines.stored(statements, pure) };
  }

  /** A statement whose loads are all made in one way, for whoever looks at them behind it. */
  #whole(statement: Statement, kind: "peeked" | "repaired"): Statement[] {
    this.#kind = kind;
    const made = this.#statement(statement);
    this.#kind = undefined;
    return kind === "repaired" ? structuredClone(made) : made;
  }

  /** Whether an expression is a load that can be looked at later. */
  #isLoad(expression: Expression): boolean {
    const { access } = this.#options;
    if (!access.checked(expression) || this.#program.typeOf(expression).kind !== "reference") return false;
    return !access.isKept(expression);
  }

  /** Whether an expression has effects, must be uniform, or is a piece of a line. */
  #isFixed(expression: Expression): boolean {
    const { access, uniform, hasEffects } = this.#options;
    if (expression.kind === "call" && hasEffects(expression)) return true;
    return uniform.expressions.has(expression) || access.checked(expression)?.pieceBytes !== undefined;
  }

  /** Whether the loads of a statement do not depend on what a run declares or changes. */
  #isIndependent({ changed }: LoadRun, statement: Statement): boolean {
    let admitted = true;
    const visit = (node: AnyNode, inLoad: boolean): void => {
      if (node.kind === "block") return;
      const isLoad = inLoad || (isExpression(node) && this.#options.access.checked(node) !== undefined);
      if (isLoad && node.kind === "identifier") {
        const target = this.#program.targetOf(node);
        if (target && (changed.has(target) || (changed.size > 0 && this.#isPointer(target))))
          admitted = false;
      }
      mapChildren(node, (child) => {
        visit(child, isLoad);
        return child;
      });
    };
    visit(statement, false);
    return admitted;
  }

  /** What a local points to may be anything that was assigned. */
  #isPointer(target: Target): boolean {
    const isLocal = target.kind === "let" || target.kind === "parameter";
    return isLocal && this.#program.declaredTypeOf(target).kind === "pointer";
  }

  /** The local that a statement declares or assigns, and nothing else; undefined for statements that do more. */
  #changedBy(statement: Statement): Target | undefined {
    if (this.#hasEffects(statement)) return undefined;
    if (statement.kind === "let" || statement.kind === "var") return statement;
    if (statement.kind !== "assign" && statement.kind !== "increment") return undefined;
    const root = statement.target && rootIdentifier(statement.target);
    const target = root && this.#program.targetOf(root);
    return target?.kind === "var" ? target : undefined;
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

  #statement(statement: Statement): Statement[] {
    switch (statement.kind) {
      case "block":
        return [this.#block(statement)];
      case "assign": {
        const { target, value } = statement;
        if (!target || !this.#options.access.checked(target)) break;
        const { name, indices } = this.#options.access.store(target);
        const args = [...indices.map((index) => quote(index.span).expression`u32(${index})`), value];
        const stores = quote(statement.span).statements`${name}(${args});`;
        this.#options.lines.remember(stores[0]!, target, args);
        return stores;
      }
      case "if": {
        const condition = this.#value(statement.condition);
        const then = this.#nested(statement.then);
        const otherwise = statement.otherwise && this.#nested(statement.otherwise);
        return [{ ...statement, condition, then, otherwise } as Statement];
      }
      case "switch": {
        const selector = this.#value(statement.selector);
        const clauses = statement.clauses.map((clause) => ({
          ...clause,
          body: this.#nested(clause.body) as Block,
        }));
        return [{ ...statement, selector, clauses }];
      }
      case "loop":
      case "for":
      case "while":
        return [this.#nested(statement) as Statement];
    }
    return [mapChildren(statement, (child) => (isExpression(child) ? this.#value(child) : child))];
  }

  /** What is evaluated later or not at all: its loads stay in it. */
  #nested(node: AnyNode): AnyNode {
    const run = this.#run;
    this.#run = undefined;
    const visit = (each: AnyNode): AnyNode => {
      if (each.kind === "block") return this.#block(each);
      if (isExpression(each)) return this.#value(each);
      return mapChildren(each, (child) => {
        // Where a loop begins may say how long it is.
        const kind = this.#kind;
        if (each.kind === "for" && child === each.initializer) this.#kind = undefined;
        const made = visit(child);
        this.#kind = kind;
        return made;
      });
    };
    const result = visit(node);
    this.#run = run;
    return result;
  }

  #value(expression: Expression, inUniform = false): Expression {
    const { access, uniform } = this.#options;
    const isUniform = inUniform || uniform.expressions.has(expression);
    const checked = access.checked(expression);
    if (checked) {
      if (this.#program.typeOf(expression).kind === "reference") return this.#load(expression, isUniform);
      // What is left of pointers keeps a binding in use.
      if (expression.kind === "unary" && expression.operator === "&")
        return quote(expression.span).expression`&${access.words(checked)}`;
    }
    if (expression.kind === "call" && builtinFunction(this.#program, expression) === "arrayLength") {
      const [pointer] = expression.args;
      if (pointer?.kind === "unary" && access.checked(pointer))
        return quote(expression.span).expression`${access.length(pointer.operand)}()`;
    }
    const isShortCircuit =
      expression.kind === "binary" && (expression.operator === "&&" || expression.operator === "||");
    if (isShortCircuit) {
      const left = this.#value(expression.left, isUniform);
      const run = this.#run;
      this.#run = undefined;
      const right = this.#value(expression.right, isUniform);
      this.#run = run;
      return { ...expression, left, right };
    }
    return mapChildren(expression, (node) => (isExpression(node) ? this.#value(node, isUniform) : node));
  }

  #load(expression: Expression, isUniform: boolean): Expression {
    const { access } = this.#options;
    const { expression: make } = quote(expression.span);
    const run = isUniform || access.isKept(expression) ? undefined : this.#run;
    const call = (kind: LoadKind, args?: readonly Expression[]) => {
      const { name, indices } = access.load(expression, kind);
      const own =
        args ?? indices.map((index) => quote(index.span).expression`u32(${this.#value(index, isUniform)})`);
      return { name, args: own };
    };
    if (!run) {
      const { name, args } = call(isUniform ? "uniform" : (this.#kind ?? "corrected"));
      return make`${name}(${args})`;
    }
    const peek = call("peeked");
    const load = call("repaired", peek.args);
    const name = this.#names.fresh("loaded");
    const note = this.#options.lines.note(expression, peek.args);
    if (note) {
      run.add({ ...note, name, load: make`${load.name}(${structuredClone(peek.args)})` });
      return make`${name}`;
    }
    run.add({
      name,
      peek: make`${peek.name}(${peek.args})`,
      load: make`${load.name}(${structuredClone(peek.args)})`,
    });
    return make`${name}`;
  }
}

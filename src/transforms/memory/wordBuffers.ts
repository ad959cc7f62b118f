/**
 * Rewrites the accesses to coded buffers in functions as calls of functions on granules.
 *
 * Before:  let x = a[i] + a[j];   b[i] = x;
 * After:   var v = peek_1(i); var w = peek_1(j);
 *          if (bad != 0) { bad = 0; v = load_1(i); w = load_1(j); tell(); }
 *          let x = v + w;   store_1(i, x);
 *
 * Loads run ahead of the statements that use them, as many as do not depend on each other, with one look at their syndromes
 * together: a branch behind each load would keep the next one waiting. Only where something is wrong they run again, one
 * by one. What may not be evaluated, such as the right operand of `&&`, is checked where it stands.
 *
 * Indices are clamped to the arrays that the program has, whose lengths follow from the size that the program has bound:
 * what is out of bounds there never reaches padding, another buffer or a wrong check word.
 */

import { builtinFunction } from "../../analysis/effects.ts";
import { rootIdentifier } from "../../analysis/places.ts";
import type { Block, CallExpression, Expression, FunctionDeclaration, Statement } from "../../wgsl/ast.ts";
import type { Program, Target } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, isExpression, mapChildren, walk } from "../../wgsl/traverse.ts";
import type { Names } from "../names.ts";
import type { AccessFunctions } from "./accessFunctions.ts";
import type { Findings, LoadKind } from "./findings.ts";
import type { LineRuns, NotedLoad } from "./lineRuns.ts";

export interface WordBuffersOptions {
  readonly access: AccessFunctions;
  readonly lines: LineRuns;
  readonly findings: Findings;
  /** The expressions whose values WGSL demands to be uniform. */
  readonly uniform: ReadonlySet<Expression>;
  /** Whether a call may store to memory, or wait for others. */
  readonly hasEffects: (call: CallExpression) => boolean;
}

/** Loads that run ahead. */
interface Group {
  readonly names: { readonly name: string; readonly peek: Expression; readonly load: Expression }[];
  /** Of pieces of lines, which are looked at together. */
  readonly noted: NotedLoad[];
  readonly statements: Statement[];
  /** What the statements declare or assign. */
  readonly changed: Set<Target>;
}

export class WordBuffers {
  readonly #program: Program;
  readonly #names: Names;
  readonly #options: WordBuffersOptions;
  /** Where loads may run ahead to now. */
  #group: Group | undefined;

  constructor(program: Program, names: Names, options: WordBuffersOptions) {
    this.#program = program;
    this.#names = names;
    this.#options = options;
  }

  function(fn: FunctionDeclaration): FunctionDeclaration {
    return { ...fn, body: this.#block(fn.body) };
  }

  #block(block: Block): Block {
    const statements: Statement[] = [];
    const pure = new Set<Statement>();
    let group = emptyGroup();
    const close = () => {
      statements.push(...this.#closed(group));
      group = emptyGroup();
    };
    for (const statement of block.statements) {
      if (!this.#admits(group, statement)) close();
      this.#group = this.#hasEffects(statement) ? undefined : group;
      const made = this.#statement(statement);
      if (statement.kind === "let" && !this.#hasEffects(statement)) for (const each of made) pure.add(each);
      group.statements.push(...made);
      this.#group = undefined;
      const changed = this.#changedBy(statement);
      if (changed) group.changed.add(changed);
      else close();
    }
    close();
    return { ...block, statements: this.#options.lines.stored(statements, pure) };
  }

  #closed({ names, noted, statements }: Group): Statement[] {
    if (names.length + noted.length === 0) return statements;
    const { findings, lines } = this.#options;
    const bad = findings.bad();
    const peeks = names.flatMap(({ name, peek }) => quote(peek.span).statements`var ${name} = ${peek};`);
    const loads = [...names, ...noted].flatMap(
      ({ name, load }) => quote(load.span).statements`${name} = ${load};`,
    );
    return [
      ...peeks,
      ...lines.noted(noted),
      ...quote().statements`if (${bad} != 0u) { ${bad} = 0u; ${loads} ${findings.tell()}(); }`,
      ...statements,
    ];
  }

  /** Whether the loads of a statement do not depend on what the group declares or assigns. */
  #admits({ changed }: Group, statement: Statement): boolean {
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
    const group = this.#group;
    this.#group = undefined;
    const visit = (each: AnyNode): AnyNode => {
      if (each.kind === "block") return this.#block(each);
      return isExpression(each) ? this.#value(each) : mapChildren(each, visit);
    };
    const result = visit(node);
    this.#group = group;
    return result;
  }

  #value(expression: Expression, inUniform = false): Expression {
    const { access, uniform } = this.#options;
    const isUniform = inUniform || uniform.has(expression);
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
      const group = this.#group;
      this.#group = undefined;
      const right = this.#value(expression.right, isUniform);
      this.#group = group;
      return { ...expression, left, right };
    }
    return mapChildren(expression, (node) => (isExpression(node) ? this.#value(node, isUniform) : node));
  }

  #load(expression: Expression, isUniform: boolean): Expression {
    const { access } = this.#options;
    const { expression: make } = quote(expression.span);
    const group = isUniform || access.isKept(expression) ? undefined : this.#group;
    const call = (kind: LoadKind, args?: readonly Expression[]) => {
      const { name, indices } = access.load(expression, kind);
      const own =
        args ?? indices.map((index) => quote(index.span).expression`u32(${this.#value(index, isUniform)})`);
      return { name, args: own };
    };
    if (!group) {
      const { name, args } = call(isUniform ? "uniform" : "corrected");
      return make`${name}(${args})`;
    }
    const peek = call("peeked");
    const load = call("repaired", peek.args);
    const name = this.#names.fresh("loaded");
    const note = this.#options.lines.note(expression, peek.args);
    if (note) {
      group.noted.push({ ...note, name, load: make`${load.name}(${structuredClone(peek.args)})` });
      return make`${name}`;
    }
    group.names.push({
      name,
      peek: make`${peek.name}(${peek.args})`,
      load: make`${load.name}(${structuredClone(peek.args)})`,
    });
    return make`${name}`;
  }
}

const emptyGroup = (): Group => ({ names: [], noted: [], statements: [], changed: new Set() });

/**
 * Rewrites loads as speculative ones, which are checked together after the statements that use
 * them.
 *
 * Before:   let x = a[i];
 *           var y = x;
 *           if (i > 0) { y += a[i - 1]; }
 *           b[i] = y;
 * After:    var v = peek_1(i);
 *           var x = v;
 *           var y = x;
 *           if (i > 0) { y += peek_1(i - 1); }
 *           if (bad != 0) {
 *             bad = 0;
 *             v = load_1(i);
 *             x = v;
 *             y = x;
 *             if (i > 0) { y += load_1(i - 1); }
 *             tell();
 *           }
 *           b[i] = y;
 *
 * A branch after each load would make the next load wait for it. So loads run first, and statements
 * with branches or loops run before their loads are checked. If the check finds an error, they run
 * again.
 */
import { reachableFrom, variablesOf } from "../../analysis/callGraph.ts";
import { wordsOf } from "../../analysis/subgroup/wordTypes.ts";
import type { CallExpression, Expression, Statement } from "../../wgsl/ast.ts";
import type { Program, Target } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, isExpression, mapChildren, walk } from "../../wgsl/traverse.ts";
import type { Names } from "../shared/names.ts";
import type { FindingFunctions } from "./findingFunctions.ts";
import type { LineRuns, NotedLoad } from "./lineRuns.ts";
import type { ReexecutableRegion, ReexecutableRegions } from "./reexecutableRegion.ts";
import { changedIn } from "./taint.ts";

/** The functions of a kernel that speculative loads use. */
export interface SpeculativeLoadsOptions {
  readonly lines: LineRuns;
  readonly findings: FindingFunctions;
  readonly replays: ReexecutableRegions;
  /** Returns true if an expression is a load, or calls a function that loads. */
  readonly isLoad: (expression: Expression) => boolean;
}

/**
 * The limit of syntax nodes that a kernel contains twice so that a store need not wait for a check.
 */
const mostNodes = 200;

/**
 * The limit of statements of one region. Each new statement is analyzed together with all before
 * it.
 */
const mostSteps = 64;

/**
 * The limit of words that speculative calls return. They take registers, which the kernel otherwise
 * uses for more invocations.
 */
const mostWords = 32;

/** A speculative load. */
interface Load {
  readonly name: string;
  readonly peek: Expression;
  /** The load that is executed again after an error. */
  readonly load: Expression;
  /** The number of words that a call returns. */
  readonly words?: number;
}

/** A statement of the program, and its rewritten form. */
interface Step {
  readonly source: Statement;
  readonly made: readonly Statement[];
  /** The form that runs again after an error. Set for statements that run before the check. */
  readonly again?: readonly Statement[];
}

/** The statements of a block since the last check. */
export class SpeculativeLoads {
  readonly #program: Program;
  readonly #names: Names;
  readonly #options: SpeculativeLoadsOptions;
  readonly #loads: Load[] = [];
  /** The loads of pieces of lines, which are checked together. */
  readonly #noted: NotedLoad[] = [];
  readonly #steps: Step[] = [];
  /** The variables that the statements declare or change. */
  readonly #changed = new Set<Target>();
  /** The number of words that speculative calls return. */
  #words = 0;

  constructor(program: Program, names: Names, options: SpeculativeLoadsOptions) {
    this.#program = program;
    this.#names = names;
    this.#options = options;
  }

  /** Adds a speculative load. */
  add(load: Load | NotedLoad): void {
    if ("note" in load) this.#noted.push(load);
    else this.#loads.push(load);
    if ("words" in load) this.#words += load.words ?? 0;
  }

  /** Adds a statement, and the variable that it changes. */
  append(source: Statement, made: readonly Statement[], changed: Target | undefined): void {
    this.#steps.push({ source, made });
    if (changed) this.#changed.add(changed);
  }

  /**
   * Returns true if the loads of a statement do not depend on variables that earlier statements
   * declare or change.
   */
  canLoadAhead(statement: Statement): boolean {
    const changed = this.#changed;
    let admitted = true;
    let words = 0;
    const visit = (node: AnyNode, inLoad: boolean): void => {
      if (node.kind === "block") return;
      const isLoad = inLoad || (isExpression(node) && this.#options.isLoad(node));
      if (isLoad && node.kind === "call" && this.#uses(node, changed)) admitted = false;
      if (node.kind === "call" && this.#options.isLoad(node)) words += wordsOf(this.#program.typeOf(node));
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
    const isMuch = this.#words > 0 && this.#words + words > mostWords;
    return admitted && !isMuch;
  }

  /** Returns true if a called function uses one of these variables. */
  #uses({ callee }: CallExpression, some: ReadonlySet<Target>): boolean {
    const called = this.#program.targetOf(callee);
    if (called?.kind !== "function") return false;
    const used = variablesOf(this.#program, reachableFrom(this.#program, [called]));
    return [...used].some((variable) => some.has(variable));
  }

  /** Returns true for a pointer. Any assigned variable may be what it points to. */
  #isPointer(target: Target): boolean {
    const isLocal = target.kind === "let" || target.kind === "parameter";
    return isLocal && this.#program.declaredTypeOf(target).kind === "pointer";
  }

  /** True if there are loads to check, and the statements are few enough to be generated twice. */
  get isShort(): boolean {
    if (this.#noted.length > 0) return false;
    let nodes = 0;
    for (const { source } of this.#steps) walk(source, () => nodes++);
    return nodes <= mostNodes && (this.#loads.length > 0 || this.#steps.some(({ again }) => again));
  }

  /** Returns true if a statement that loads or stores may run before the loads are checked. */
  admits(statement: Statement): boolean {
    if (this.#steps.length >= mostSteps) return false;
    return this.#options.replays.of([...this.#sources(), statement]) !== undefined;
  }

  /**
   * Adds a statement that runs before the check: its first form, and the form that runs again after
   * an error.
   */
  appendReplayed(source: Statement, made: readonly Statement[], again: readonly Statement[]): void {
    this.#steps.push({ source, made, again });
    for (const each of changedIn(this.#program, source)) this.#changed.add(each);
  }

  /** Returns the rewritten statements. */
  statements(): Statement[] {
    const steps = this.#steps;
    const end = 1 + steps.findLastIndex(({ again }) => again);
    if (this.#loads.length + this.#noted.length + end === 0) return steps.flatMap(({ made }) => made);
    const { findings, lines, replays } = this.#options;
    const bad = findings.bad();
    const replayed = steps.slice(0, end);
    const replay = replays.of(replayed.map(({ source }) => source));
    if (!replay) throw new Error("what was admitted can run again");
    const saved = replay.restored.map(({ name }) => ({ name, copy: this.#names.fresh("before") }));
    const loads = [...this.#loads, ...this.#noted].flatMap(
      ({ name, load }) => quote(load.span).statements`${name} = ${load};`,
    );
    return [
      ...this.#loads.flatMap(({ name, peek }) => quote(peek.span).statements`var ${name} = ${peek};`),
      ...lines.noted(this.#noted),
      ...saved.flatMap(({ name, copy }) => quote().statements`let ${copy} = ${name};`),
      ...replayed.flatMap((step) => firstTime(step, replay)),
      ...quote().statements`if (${bad} != 0u) {
        ${bad} = 0u;
        ${loads}
        ${saved.flatMap(({ name, copy }) => quote().statements`${name} = ${copy};`)}
        ${replayed.flatMap((step) => secondTime(step, replay))}
        ${findings.tell()}();
      }`,
      ...steps.slice(end).flatMap(({ made }) => made),
    ];
  }

  #sources(): Statement[] {
    return this.#steps.map(({ source }) => source);
  }
}

/**
 * Returns a statement for the first execution. A `let` whose value may be replaced becomes a `var`.
 */
function firstTime({ source, made }: Step, { renewed }: ReexecutableRegion): readonly Statement[] {
  if (source.kind !== "let" || !renewed.has(source)) return made;
  return made.map((each) => (each.kind === "let" ? { ...each, kind: "var", qualifiers: [] } : each));
}

function secondTime({ source, made, again }: Step, { renewed }: ReexecutableRegion): readonly Statement[] {
  if (again) return again;
  if (source.kind === "assign" || source.kind === "increment") return structuredClone(made);
  if (!renewed.has(source as Target)) return [];
  return made.flatMap((each) => {
    if (each.kind !== "let" && each.kind !== "var") return [];
    const value = each.initializer ?? quote(each.span).expression`${each.type!}()`;
    return quote(each.span).statements`${each.name} = ${structuredClone(value)};`;
  });
}

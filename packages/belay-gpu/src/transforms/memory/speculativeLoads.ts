/**
 * Loads that are looked at together, and the statements around them.
 *
 * Before:  let x = a[i]; var y = x; if (i > 0) { y += a[i - 1]; } b[i] = y;
 * After:   var v = peek_1(i); var x = v; var y = x; if (i > 0) { y += peek_1(i - 1); }
 *          if (bad != 0) { bad = 0; v = load_1(i); x = v; y = x; if (i > 0) { y += load_1(i - 1); } tell(); }
 *          b[i] = y;
 *
 * A branch behind each load would keep the next one waiting: that is why loads run ahead, and statements that branch or repeat run
 * before what they loaded is looked at. Where something is wrong, they run again.
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

export interface SpeculativeLoadsOptions {
  readonly lines: LineRuns;
  readonly findings: FindingFunctions;
  readonly replays: ReexecutableRegions;
  /** Whether an expression is a load, or calls a function for one. */
  readonly isLoad: (expression: Expression) => boolean;
}

/**
 * What is computed from loads before a store is in a kernel twice where the store does not wait:
 * not more than so many nodes.
 */
const mostNodes = 200;

/** Statements that are considered together, as each is with all before it. */
const mostSteps = 64;

/**
 * Calls run ahead as long as what they return is not more than so many words: registers that
 * kernels otherwise have for more invocations.
 */
const mostWords = 32;

/** A load that runs ahead. */
interface Load {
  readonly name: string;
  readonly peek: Expression;
  /** For when something is wrong. */
  readonly load: Expression;
  /** What a call returns. */
  readonly words?: number;
}

interface Step {
  readonly source: Statement;
  readonly made: readonly Statement[];
  /** Set for what is looked at behind it, as it is when something is wrong. */
  readonly again?: readonly Statement[];
}

export class SpeculativeLoads {
  readonly #program: Program;
  readonly #names: Names;
  readonly #options: SpeculativeLoadsOptions;
  readonly #loads: Load[] = [];
  /** Of pieces of lines, which are looked at together. */
  readonly #noted: NotedLoad[] = [];
  readonly #steps: Step[] = [];
  /** What the statements declare or change. */
  readonly #changed = new Set<Target>();
  /** What calls that run ahead return. */
  #words = 0;

  constructor(program: Program, names: Names, options: SpeculativeLoadsOptions) {
    this.#program = program;
    this.#names = names;
    this.#options = options;
  }

  /** Lets a load run ahead. */
  add(load: Load | NotedLoad): void {
    if ("note" in load) this.#noted.push(load);
    else this.#loads.push(load);
    if ("words" in load) this.#words += load.words ?? 0;
  }

  /** Adds a statement, and what it changes. */
  append(source: Statement, made: readonly Statement[], changed: Target | undefined): void {
    this.#steps.push({ source, made });
    if (changed) this.#changed.add(changed);
  }

  /** Whether the loads of a statement do not depend on what those before it declare or change. */
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

  /** Whether a function that is called uses some of these variables. */
  #uses({ callee }: CallExpression, some: ReadonlySet<Target>): boolean {
    const called = this.#program.targetOf(callee);
    if (called?.kind !== "function") return false;
    const used = variablesOf(this.#program, reachableFrom(this.#program, [called]));
    return [...used].some((variable) => some.has(variable));
  }

  /** What a local points to may be anything that was assigned. */
  #isPointer(target: Target): boolean {
    const isLocal = target.kind === "let" || target.kind === "parameter";
    return isLocal && this.#program.declaredTypeOf(target).kind === "pointer";
  }

  /** Whether there is something to look at, and little enough to be there twice. */
  get isShort(): boolean {
    if (this.#noted.length > 0) return false;
    let nodes = 0;
    for (const { source } of this.#steps) walk(source, () => nodes++);
    return nodes <= mostNodes && (this.#loads.length > 0 || this.#steps.some(({ again }) => again));
  }

  /** Whether a statement that loads or stores can run before what was loaded is looked at. */
  admits(statement: Statement): boolean {
    if (this.#steps.length >= mostSteps) return false;
    return this.#options.replays.of([...this.#sources(), statement]) !== undefined;
  }

  /** Adds such a statement, as it is before and after that. */
  appendReplayed(source: Statement, made: readonly Statement[], again: readonly Statement[]): void {
    this.#steps.push({ source, made, again });
    for (const each of changedIn(this.#program, source)) this.#changed.add(each);
  }

  /** All that it has come to. */
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

/** What gets its value again is a variable. */
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

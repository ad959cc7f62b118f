import type { Expression, LetStatement } from "../wgsl/ast.ts";
import { printExpression } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import { walk } from "../wgsl/traverse.ts";
import type { Place } from "./places.ts";

/**
 * Returns true if `places` name different elements, each evaluated once by one invocation, as far
 * as the source shows. They must be equal except for constants in sums. Requires stable indices
 * (access normal form).
 */
export function areDistinct(program: Program, places: readonly Place[]): boolean {
  const sums = places.map((place) => sumsOf(program, place));
  const rests = new Set(sums.map((each) => JSON.stringify(each.map(({ rest }) => rest))));
  const whole = new Set(sums.map((each) => each.map(({ known }) => known).join()));
  return rests.size <= 1 && whole.size === places.length;
}

/** An index as the sum of a known number and the text of its other terms. */
export interface IndexSum {
  readonly rest: string;
  readonly known: bigint;
}

/** Returns the indices of a place as sums, and its members as their names. */
export function sumsOf(program: Program, { steps }: Place): IndexSum[] {
  const terms = new Terms(program);
  return steps.map((step) => {
    if (step.kind === "member") return { rest: step.name, known: 0n };
    const { known, ...sum } = terms.of(step.index);
    const rest = [...sum.counts].map(([text, count]) => (count === 1n ? text : `${count} * ${text}`));
    return { rest: rest.sort().join(" + "), known };
  });
}

/** The longest chain of `let` declarations that is followed. */
const deepest = 100;

/**
 * Splits expressions into the terms that they add. Each `let` is split only once: a chain of names
 * that are added to themselves would double the work with each name.
 */
class Terms {
  readonly #program: Program;
  readonly #lets = new Map<LetStatement, CountedTerms>();
  #depth = 0;

  constructor(program: Program) {
    this.#program = program;
  }

  of(term: Expression): CountedTerms {
    const constant = this.#program.constantOf(term);
    if (constant && "value" in constant) return { known: BigInt(Number(constant.value)), counts: new Map() };
    if (term.kind === "binary" && term.operator === "+") return plus(this.of(term.left), this.of(term.right));
    const target = term.kind === "identifier" ? this.#program.targetOf(term) : undefined;
    return (
      (target?.kind === "let" ? this.#ofLet(target) : undefined) ?? {
        known: 0n,
        counts: new Map([[printExpression(term), 1n]]),
      }
    );
  }

  #ofLet(target: LetStatement): CountedTerms | undefined {
    const found = this.#lets.get(target);
    if (found || this.#depth === deepest || !isStable(this.#program, target.initializer)) return found;
    this.#depth++;
    const terms = this.of(target.initializer);
    this.#depth--;
    this.#lets.set(target, terms);
    return terms;
  }
}

/** A known number, and the count of each other term that is added to it. */
interface CountedTerms {
  readonly known: bigint;
  readonly counts: ReadonlyMap<string, bigint>;
}

function plus(a: CountedTerms, b: CountedTerms): CountedTerms {
  const counts = new Map(a.counts);
  for (const [text, count] of b.counts) counts.set(text, (counts.get(text) ?? 0n) + count);
  return { known: a.known + b.known, counts };
}

/** Returns true if an expression has the same value wherever its names are in scope. */
function isStable(program: Program, expression: Expression): boolean {
  let stable = true;
  walk(expression, (node) => {
    const target = node.kind === "identifier" ? program.targetOf(node) : undefined;
    if (node.kind === "call" || target?.kind === "var" || target?.kind === "globalVariable") stable = false;
  });
  return stable;
}

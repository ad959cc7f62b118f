import { add, codeOf, difference, isUnknown, type Linear, scale, subtract } from "./linear.ts";
import type { Interval } from "./values.ts";

/** Whether a value of two or three would already make the bound positive: a check that no real program passes. */
const isHopeless = ({ constant, terms }: Linear) =>
  [...terms.values()].every((coefficient) => coefficient > 0) &&
  [...terms.values()].some((coefficient) => 2 * coefficient > -constant);

/**
 * What must be true when the loop starts for its translation to be exact. The host checks it, and runs the loop as it was
 * written otherwise.
 */
export class Guards {
  readonly #types = new Set<string>();
  readonly #conditions = new Set<string>();
  /** Each says that a bound is at most zero. */
  readonly #facts: Linear[] = [];

  /** A JavaScript condition that the others presuppose. */
  requireType(condition: string): void {
    this.#types.add(condition);
  }

  /** A JavaScript condition. */
  require(condition: string): void {
    this.#conditions.add(condition);
  }

  /** Requires `bound <= 0`, unless it is known. False when it cannot be. */
  requireNotPositive(bound: Linear): boolean {
    const state = this.state(bound);
    if (state === "open") this.#facts.push(bound);
    return state !== "never";
  }

  /** Whether `bound <= 0` is known, can be checked when the loop starts, or is never so. */
  state(bound: Linear): "known" | "open" | "never" {
    const itself = difference(bound, { constant: 0, terms: new Map() });
    if (itself !== undefined) return itself <= 0 ? "known" : "never";
    if (isUnknown(bound) || isHopeless(bound)) return "never";
    const implied = this.#facts.some((fact) => (difference(bound, fact) ?? 1) <= 0);
    return implied ? "known" : "open";
  }

  /** Whether the interval lies in the other: known, to be checked, or never. */
  within(inner: Interval, outer: Interval): "known" | "open" | "never" {
    const states = [subtract(outer.low, inner.low), subtract(inner.high, outer.high)].map((bound) =>
      this.state(bound),
    );
    if (states.includes("never")) return "never";
    return states.includes("open") ? "open" : "known";
  }

  requireWithin(inner: Interval, outer: Interval): boolean {
    return [subtract(outer.low, inner.low), subtract(inner.high, outer.high)].every((bound) =>
      this.requireNotPositive(bound),
    );
  }

  /** All conditions as JavaScript, the types first; bounds that others imply are left out. */
  get conditions(): readonly string[] {
    let needed = [...this.#facts];
    for (const fact of this.#facts) {
      const others = needed.filter((other) => other !== fact);
      if (isImplied(fact, others)) needed = others;
    }
    return [...this.#types, ...this.#conditions, ...needed.map(comparison)];
  }
}

/** Whether a bound is at most zero if others are: because it is below one of them, or below the sum of two. */
function isImplied(bound: Linear, others: readonly Linear[]): boolean {
  const isBelow = (other: Linear) => (difference(bound, other) ?? 1) <= 0;
  return others.some(
    (one, at) => isBelow(one) || others.slice(at + 1).some((other) => isBelow(add(one, other))),
  );
}

/** `bound <= 0`, written as people would. */
function comparison(bound: Linear): string {
  const isNegative = [...bound.terms.values()].every((coefficient) => coefficient < 0);
  const terms = { constant: 0, terms: isNegative ? scale(bound, -1).terms : bound.terms };
  return isNegative ? `${codeOf(terms)} >= ${bound.constant}` : `${codeOf(terms)} <= ${-bound.constant}`;
}

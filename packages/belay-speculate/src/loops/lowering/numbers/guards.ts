import { add, codeOf, difference, known, type Linear, scale, subtract } from "./linear.ts";
import type { Interval } from "./values.ts";

/** Whether a check would fail whatever sizes a program has. */
const isHopeless = ({ samples }: Linear) => samples.every((sample) => sample > 0);

/**
 * What must be true when the loop starts for its translation to be exact. The host checks it, and
 * runs the loop as it was written otherwise.
 */
export class Guards {
  readonly #types = new Set<string>();
  readonly #conditions = new Set<string>();
  /** Each says that a bound is at most zero. */
  readonly #facts: Linear[] = [];
  /** The same, but it need not be checked. */
  readonly #known: Linear[] = [];

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

  /** Takes for granted that the interval lies in the other. */
  assumeWithin(inner: Interval, outer: Interval): void {
    this.#known.push(subtract(outer.low, inner.low), subtract(inner.high, outer.high));
  }

  /** Whether `bound <= 0` is known, can be checked when the loop starts, or is never so. */
  state(bound: Linear): "known" | "open" | "never" {
    const number = known(bound);
    if (number !== undefined) return number <= 0 ? "known" : "never";
    if ([...this.#known, ...this.#facts].some((fact) => (difference(bound, fact) ?? 1) <= 0)) return "known";
    return isHopeless(bound) ? "never" : "open";
  }

  /** Whether the interval lies in the other: known, to be checked, or never. */
  within(inner: Interval, outer: Interval): "known" | "open" | "never" {
    const states = [subtract(outer.low, inner.low), subtract(inner.high, outer.high)].map((bound) =>
      this.state(bound),
    );
    if (states.includes("never")) return "never";
    return states.includes("open") ? "open" : "known";
  }

  /** Requires that the interval lies in the other, unless that is known. False when it cannot. */
  requireWithin(inner: Interval, outer: Interval): boolean {
    if (this.within(inner, outer) === "never") return false;
    this.requireNotPositive(subtract(outer.low, inner.low));
    this.requireNotPositive(subtract(inner.high, outer.high));
    return true;
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

/**
 * Whether a bound is at most zero if others are: because it is below one of them, or below the sum
 * of two.
 */
function isImplied(bound: Linear, others: readonly Linear[]): boolean {
  const isBelow = (other: Linear) => (difference(bound, other) ?? 1) <= 0;
  return others.some(
    (one, at) => isBelow(one) || others.slice(at + 1).some((other) => isBelow(add(one, other))),
  );
}

/** `bound <= 0`, written as people would. */
function comparison(bound: Linear): string {
  const isNegative = [...bound.terms.values()].every((coefficient) => coefficient < 0);
  const terms = { ...(isNegative ? scale(bound, -1) : bound), constant: 0 };
  return isNegative ? `${codeOf(terms)} >= ${bound.constant}` : `${codeOf(terms)} <= ${-bound.constant}`;
}

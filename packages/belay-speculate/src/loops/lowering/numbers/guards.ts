import { add, codeOf, difference, known, type Linear, scale, subtract } from "./linear.ts";
import type { Interval } from "./values.ts";

/** The ratio of the sizes for which a program should still run on the GPU to typical ones. */
const manyTimes = 1000;

/** Returns true if a check would fail for all typical sizes. */
const isHopeless = ({ samples }: Linear) => samples.every((sample) => sample > 0);

/**
 * The conditions under which a loop's translation is exact. The host checks them when the loop
 * starts, and otherwise runs the loop as it was written.
 */
export class Guards {
  readonly #types = new Set<string>();
  readonly #conditions = new Set<string>();
  /** Bounds that must be at most zero. */
  readonly #facts: Linear[] = [];
  /** Bounds that are at most zero and need no check. */
  readonly #known: Linear[] = [];

  /** Requires a JavaScript condition on which the others depend. */
  requireType(condition: string): void {
    this.#types.add(condition);
  }

  /** Requires a JavaScript condition. */
  require(condition: string): void {
    this.#conditions.add(condition);
  }

  /** Requires `bound <= 0`, unless it is known. Returns false if it cannot hold. */
  requireNotPositive(bound: Linear): boolean {
    const state = this.state(bound);
    if (state === "open") this.#facts.push(bound);
    return state !== "never";
  }

  /** Assumes without a check that the interval lies in the other. */
  assumeWithin(inner: Interval, outer: Interval): void {
    this.#known.push(subtract(outer.low, inner.low), subtract(inner.high, outer.high));
  }

  /** Drops the checks that bound a value of the host, which then need other ways to hold. */
  drop(code: string): void {
    const kept = this.#facts.filter(({ terms }) => !terms.has(code));
    this.#facts.splice(0, this.#facts.length, ...kept);
  }

  /** Returns whether `bound <= 0` is known, can be checked when the loop starts, or never holds. */
  state(bound: Linear): "known" | "open" | "never" {
    const number = known(bound);
    if (number !== undefined) return number <= 0 ? "known" : "never";
    if ([...this.#known, ...this.#facts].some((fact) => (difference(bound, fact) ?? 1) <= 0)) return "known";
    return isHopeless(bound) ? "never" : "open";
  }

  /**
   * Returns true if the interval lies in the other, also where it is many times what typical sizes
   * give.
   */
  withinIfLarge(inner: Interval, outer: Interval): boolean {
    if (this.within(inner, outer) === "known") return true;
    const { low, high } = outer;
    return (
      inner.low.samples.every((sample, at) => manyTimes * sample >= low.samples[at]!) &&
      inner.high.samples.every((sample, at) => manyTimes * sample <= high.samples[at]!)
    );
  }

  /** Returns whether the interval lies in the other: known, to be checked, or never. */
  within(inner: Interval, outer: Interval): "known" | "open" | "never" {
    const states = [subtract(outer.low, inner.low), subtract(inner.high, outer.high)].map((bound) =>
      this.state(bound),
    );
    if (states.includes("never")) return "never";
    return states.includes("open") ? "open" : "known";
  }

  /**
   * Requires that the interval lies in the other, unless it is known. Returns false if it cannot.
   */
  requireWithin(inner: Interval, outer: Interval): boolean {
    if (this.within(inner, outer) === "never") return false;
    this.requireNotPositive(subtract(outer.low, inner.low));
    this.requireNotPositive(subtract(inner.high, outer.high));
    return true;
  }

  /** All conditions as JavaScript, the types first, without bounds that others imply. */
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
 * Returns true if a bound is at most zero whenever others are: it is below one of them, or below
 * the sum of two.
 */
function isImplied(bound: Linear, others: readonly Linear[]): boolean {
  const isBelow = (other: Linear) => (difference(bound, other) ?? 1) <= 0;
  return others.some(
    (one, at) => isBelow(one) || others.slice(at + 1).some((other) => isBelow(add(one, other))),
  );
}

/** Returns `bound <= 0` as JavaScript in a usual form. */
function comparison(bound: Linear): string {
  const isNegative = [...bound.terms.values()].every((coefficient) => coefficient < 0);
  const terms = { ...(isNegative ? scale(bound, -1) : bound), constant: 0 };
  return isNegative ? `${codeOf(terms)} >= ${bound.constant}` : `${codeOf(terms)} <= ${-bound.constant}`;
}

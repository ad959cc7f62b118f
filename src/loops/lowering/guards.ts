import { codeOf, difference, type Linear, subtract } from "./linear.ts";
import type { Interval } from "./values.ts";

/**
 * What must be true when the loop starts for its translation to be exact. The host checks it, and runs the loop as it was
 * written otherwise.
 */
export class Guards {
  readonly #conditions = new Set<string>();
  /** Each says that a bound is at most zero. */
  readonly #facts: Linear[] = [];

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
    if (Number.isNaN(bound.constant)) return "never";
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

  /** All conditions as JavaScript, those that others imply left out. */
  get conditions(): readonly string[] {
    const needed = this.#facts.filter(
      (fact, at) =>
        !this.#facts.some((other, place) => {
          const apart = difference(fact, other);
          return place !== at && apart !== undefined && (apart < 0 || (apart === 0 && place < at));
        }),
    );
    return [...this.#conditions, ...needed.map((fact) => `${codeOf(fact)} <= 0`)];
  }
}

import type { Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { Node } from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import type { FloatType, LoopExpression, ValueType } from "../tree/ir.ts";
import { difference, isUnknown, known, type Linear, scale } from "./numbers/linear.ts";
import {
  type Accuracy,
  between,
  hull,
  type Interval,
  int32,
  numbers,
  open,
  sum,
  uint32,
  worse,
} from "./numbers/values.ts";
import { refuse } from "./refusal.ts";

/**
 * The kinds of uses of a number from outside. `compared` decides nothing: an integer comparison is
 * exact, and the host checks that the number is an integer.
 */
export type ScalarUse = "integer" | "compared" | "float";

export type VariableKind = "integer" | "float" | "boolean";

/** A local or carried variable, with the facts from all its assignments. */
export interface Variable {
  readonly name: string;
  /** The number of inner loops around its declaration. */
  readonly depth: number;
  kind: VariableKind | undefined;
  /** The type that it has as a float. */
  readonly floats: FloatType;
  /** The worst accuracy of the floats assigned to it. */
  accuracy: Accuracy;
  /**
   * True if an integer assigned to it may be −0. `isZeroObserved` is true if something tells −0
   * from 0.
   */
  mayBeMinusZero: boolean;
  isZeroObserved: boolean;
  /**
   * True if something depends on all bits of an integer that may have more than 32. Iterations bail
   * out unless the type holds each value that is assigned.
   */
  isExact: boolean;
  /**
   * The value before the loop, for a variable from outside. The host checks that the type holds it.
   */
  readonly outside: Interval | undefined;
  /** The range of assigned values. Added values are kept apart by place, and summed up. */
  base: Interval | undefined;
  readonly added: Map<string, Interval>;
}

/** The number of passes after which ranges are widened. */
const passesBeforeWidening = 3;
/** The ranges to which a growing range is widened, one after another. */
const stops = [
  between(0, 2 ** 31 - 1),
  between(-(2 ** 31), 2 ** 31 - 1),
  between(-(2 ** 31), 2 ** 32 - 1),
  open,
];

/** The facts about the variables of a loop, over all passes. */
export class Variables {
  readonly floats: FloatType;
  readonly #byKey = new Map<string, Variable>();
  readonly #names = new Set<string>();
  readonly #byName = new Map<string, Variable>();
  readonly #exact = new Set<string>();
  readonly #inlined = new Set<Node>();
  /** The variables from outside of which the loop does not need the value before it. */
  readonly #chosen: ReadonlySet<string>;
  readonly #definitions = new Map<string, Set<LoopExpression>>();
  readonly #uses = new Map<string, Set<ScalarUse>>();
  /** The uses in all earlier passes, so that the order of uses does not matter. */
  #usesBefore = new Map<string, ReadonlySet<ScalarUse>>();
  /** The arrays that may hold other numbers than the program's. */
  readonly #others = new Set<string>();
  readonly #changedCopies = new Set<string>();
  #passes = 0;
  #kindChanged = false;
  changed = true;

  /**
   * Makes the facts of a loop that computes floats in this type. `chosen` are the variables from
   * outside that reductions set to values of the loop, and whose value before only the host needs.
   */
  constructor(floats: FloatType, chosen: ReadonlySet<string>) {
    this.floats = floats;
    this.#chosen = chosen;
  }

  startPass(): void {
    this.#passes++;
    this.changed = false;
    // Accuracies follow from kinds: what an integer loses as a float, a float has lost before.
    if (this.#kindChanged) {
      for (const variable of this.#byKey.values()) variable.accuracy = "exact";
      this.#others.clear();
      this.#kindChanged = false;
    }
    this.#usesBefore = new Map([...this.#uses].map(([code, uses]) => [code, new Set(uses)]));
    this.#definitions.clear();
  }

  /** Records a function whose calls are inlined. It may change variables from outside. */
  inline(helper: Node): void {
    this.changed ||= !this.#inlined.has(helper);
    this.#inlined.add(helper);
  }

  get inlined(): Iterable<Node> {
    return this.#inlined;
  }

  /** Records an expression as a value of a local. */
  define(name: string, value: LoopExpression): void {
    const known = this.#definitions.get(name) ?? new Set();
    this.#definitions.set(name, known.add(value));
  }

  definitionsOf(name: string): Iterable<LoopExpression> {
    return this.#definitions.get(name) ?? [];
  }

  /** Records the use of a number from outside, by its code. */
  recordUse(code: string, use: ScalarUse): void {
    const known = this.#uses.get(code) ?? new Set();
    if (known.has(use)) return;
    this.#uses.set(code, known.add(use));
    this.changed = true;
  }

  usesOf(code: string): ReadonlySet<ScalarUse> {
    return this.#usesBefore.get(code) ?? new Set();
  }

  /**
   * Returns the variable of a declaration. A new variable gets `name`, with a number if the name is
   * taken.
   */
  get(key: string, name: string, depth: number, outside?: Interval): Variable {
    const existing = this.#byKey.get(key);
    if (existing) return existing;
    let unique = name;
    for (let count = 2; this.#names.has(unique); count++) unique = `${name}$${count}`;
    this.#names.add(unique);
    const variable: Variable = {
      name: unique,
      depth,
      kind: undefined,
      floats: this.floats,
      accuracy: "exact",
      mayBeMinusZero: false,
      isZeroObserved: false,
      isExact: false,
      outside,
      base: undefined,
      added: new Map(),
    };
    this.#byKey.set(key, variable);
    this.#byName.set(unique, variable);
    return variable;
  }

  /** Requires that the type of a local or of a carried variable holds each value assigned to it. */
  requireExact(name: string): void {
    this.changed ||= !this.#exact.has(name);
    this.#exact.add(name);
    const variable = this.#byName.get(name);
    if (variable) variable.isExact = true;
  }

  isExact(name: string): boolean {
    return this.#exact.has(name);
  }

  /**
   * Returns a variable that iterations pass on, with its value before the loop. Its kind follows
   * from its uses.
   */
  getOutside(key: string, name: string, before: Interval): Variable {
    return this.get(`outside ${key}`, name, 0, this.#chosen.has(key) ? undefined : before);
  }

  /** Records an assignment of a value of a kind, in an interval. */
  set(variable: Variable, kind: VariableKind, interval: Interval, span: Span): void {
    this.#join(variable, kind, span);
    const base = variable.base ? hull(variable.base, interval) : interval;
    if (variable.base && same(variable.base, base)) return;
    variable.base = this.#passes > passesBeforeWidening ? this.#widened(base) : base;
    this.changed = true;
  }

  /** Records the accuracy of a float assigned to the variable. */
  setAccuracy(variable: Variable, accuracy: Accuracy): void {
    if (worse(variable.accuracy, accuracy) === variable.accuracy) return;
    variable.accuracy = accuracy;
    this.changed = true;
  }

  /** Records that an integer assigned to the variable may be −0. */
  setMinusZero(variable: Variable): void {
    this.changed ||= !variable.mayBeMinusZero;
    variable.mayBeMinusZero = true;
  }

  /** Records that something tells whether the variable is −0 or 0. */
  observeZero(variable: Variable): void {
    this.changed ||= !variable.isZeroObserved;
    variable.isZeroObserved = true;
  }

  /** Returns the name of the local that says whether the variable is −0. */
  zeroOf({ name, depth }: Variable): string {
    return this.get(`zero of ${name}`, `${name}$zero`, depth).name;
  }

  /** Records that the array may hold other numbers than the program's. */
  storeOther(array: string): void {
    this.changed ||= !this.#others.has(array);
    this.#others.add(array);
  }

  /** Returns true if elements of the array may be other numbers than the program's. */
  holdsOther(array: string): boolean {
    return this.#others.has(array);
  }

  /** Records that the loop stores to a copy, which then has doubles. */
  storeToCopy(array: string): void {
    this.changed ||= !this.#changedCopies.has(array);
    this.#changedCopies.add(array);
  }

  /** Returns true if the loop stores to a copy. */
  isCopyChanged(array: string): boolean {
    return this.#changedCopies.has(array);
  }

  /** Records that values are added at one place, with a total in the interval. */
  add(variable: Variable, kind: VariableKind, place: string, interval: Interval, span: Span): void {
    this.#join(variable, kind, span);
    const existing = variable.added.get(place);
    const joined = existing ? hull(existing, interval) : interval;
    if (existing && same(existing, joined)) return;
    variable.added.set(place, this.#passes > passesBeforeWidening ? open : joined);
    this.changed = true;
  }

  #join(variable: Variable, kind: VariableKind, span: Span): void {
    const before = variable.kind;
    if (before === kind || (before === "float" && kind === "integer")) return;
    if (before === "boolean" || (before && kind === "boolean")) {
      const [here, there] = [kind, before].map((one) => (one === "boolean" ? "boolean" : "number"));
      refuse(loopError.mixedTypes(variable.name, here!, there!, span));
    }
    variable.kind = kind;
    this.#kindChanged = true;
    this.changed = true;
  }

  #widened(interval: Interval): Interval {
    const range = numbers(interval);
    if (!range) return this.#passes > passesBeforeWidening * 3 ? open : interval;
    const fitting = stops.find((stop) => {
      const ends = numbers(stop)!;
      return ends[0] <= range[0] && range[1] <= ends[1];
    });
    return fitting ?? open;
  }
}

/** Returns the range of the variable's values. */
export function rangeOf(variable: Variable): Interval {
  const all = assignedRange(variable);
  if (!variable.isExact) return all;
  if (isUnsigned(all)) return known(all.high)! < 2 ** 32 ? all : uint32;
  const range = numbers(all);
  if (!range) return isUnknown(all.low) || isUnknown(all.high) ? int32 : all;
  return range[0] >= -(2 ** 31) && range[1] < 2 ** 31 ? all : int32;
}

/** Returns the range of all values assigned to a variable, whatever its type holds. */
export function assignedRange({ base, added, outside }: Variable): Interval {
  const before = base && outside && isUnsigned(base) ? uint32 : outside;
  const set = base && before ? hull(before, base) : (base ?? before);
  return [...added.values()].reduce(sum, set ?? between(0, 0));
}

/**
 * Returns the largest change of a variable by one of so many iterations, which only add to it;
 * undefined if it is not known, or not the same in all.
 */
export function largestChange({ base, added }: Variable, iterations: Linear): number | undefined {
  if (base) return undefined;
  const { low, high } = [...added.values()].reduce(sum, between(0, 0));
  const [monomial, count] = [...iterations.terms][0] ?? [];
  if (monomial === undefined || count === undefined) return undefined;
  const changes = [low, high].map((end) => {
    const change = (end.terms.get(monomial) ?? 0) / count;
    return difference(end, scale(iterations, change)) === 0 ? Math.abs(change) : Number.NaN;
  });
  const largest = Math.max(...changes);
  return largest > 0 ? largest : undefined;
}

export const typeOfVariable = (variable: Variable): ValueType => {
  switch (variable.kind) {
    case "float":
      return variable.floats;
    case "boolean":
      return "bool";
    default:
      return isUnsigned(rangeOf(variable)) ? "u32" : "i32";
  }
};

/** Returns true for integers that a u32 holds and an i32 does not. */
function isUnsigned({ low, high }: Interval): boolean {
  const [first, last] = [known(low), known(high)];
  return first !== undefined && first >= 0 && last !== undefined && last > 2 ** 31 - 1;
}

function same(one: Interval, other: Interval): boolean {
  const ends = [
    [one.low, other.low],
    [one.high, other.high],
  ] as const;
  return ends.every(([a, b]) => (isUnknown(a) && isUnknown(b)) || difference(a, b) === 0);
}

/** Computes the bytes that stores fill from their addresses and conditions. */
import type { BindingPoint } from "../bindings.ts";
import type { Sum, Unknown } from "./sums.ts";

/** The condition that a sum is not negative, or one that is not understood. */
export type Condition = Sum | "unknown";

/** A store to a bound buffer. */
export interface BufferStore {
  readonly of: BindingPoint;
  /** The byte of the binding at which the store begins. */
  readonly address: Sum;
  readonly bytes: number;
  /** The conditions that together are necessary and sufficient for the store. */
  readonly conditions: readonly Condition[];
}

/** A range of a binding, in bytes. */
export interface FilledRange {
  readonly of: BindingPoint;
  readonly offset: number;
  readonly size: number;
}

/** The bytes from `start` to `end`, and the same ones `step` further, `count` times in all. */
interface Row {
  readonly start: number;
  end: number;
  readonly step: number;
  count: number;
}

/** Returns the ranges that all stores together fill. */
export function filledRanges(stores: readonly BufferStore[]): FilledRange[] {
  const rows = new Map<string, { readonly of: BindingPoint; readonly rows: Row[] }>();
  for (const store of stores) {
    const row = rowOf(store);
    if (!row) continue;
    const key = `${store.of.group} ${store.of.binding}`;
    const known = rows.get(key) ?? { of: store.of, rows: [] };
    rows.set(key, known);
    known.rows.push(row);
  }
  return [...rows.values()].flatMap(({ of, rows }) =>
    rangesOf(rows).map(([start, end]) => ({ of, offset: start, size: end - start })),
  );
}

/** The values of an unknown, from `low` to `high`. */
interface Interval {
  readonly low: number;
  readonly high: number;
}

/** A sum of multiples of independent unknowns whose intervals are known. */
interface Linear {
  constant: number;
  readonly factors: Map<object, number>;
}

/** Returns the bytes that a store fills for certain; undefined if there are none. */
function rowOf({ address, bytes, conditions }: BufferStore): Row | undefined {
  const open: Sum[] = [];
  for (const condition of conditions) {
    if (condition === "unknown" || condition.max < 0) return undefined;
    if (condition.min < 0) open.push(condition);
  }
  const unknowns = new Set([address, ...open].flatMap(({ terms }) => [...terms.keys()]));
  if ([...unknowns].some(({ isIndependent }) => !isIndependent)) return undefined;
  const values = new Map<object, Interval>(
    [...unknowns].map((unknown) => [unknown, { low: 0, high: unknown.count - 1 }]),
  );
  const place = linear(address);
  const limits = open.map(linear).sort((a, b) => a.factors.size - b.factors.size);
  for (const [i, limit] of limits.entries()) {
    joinTerms(limit, [place, ...limits.slice(i + 1)], values);
    if (!narrow(limit, values)) return undefined;
  }
  return rowFrom(place, bytes, values);
}

const linear = ({ constant, terms }: Sum): Linear => ({
  constant,
  factors: new Map<Unknown, number>(terms),
});

/**
 * Rewrites a limit of several unknowns to one new unknown, which takes each value of an interval.
 * Rewrites the other sums too. Changes nothing if that is not possible.
 */
function joinTerms(limit: Linear, others: readonly Linear[], values: Map<object, Interval>): void {
  const terms = [...limit.factors];
  const [first] = terms;
  if (!first || terms.length < 2 || terms.some(([, factor]) => factor > 0 !== first[1] > 0)) return;
  const unit = terms.reduce((divisor, [, factor]) => commonDivisor(divisor, Math.abs(factor)), 0);
  const parts = terms
    .map(([unknown, factor]) => ({ factor: Math.abs(factor) / unit, ...values.get(unknown)! }))
    .sort((a, b) => a.factor - b.factor);
  let [low, reached] = [0, 0];
  for (const part of parts) {
    if (part.factor > reached + 1) return;
    low += part.factor * part.low;
    reached += part.factor * (part.high - part.low);
  }
  // Each sum has to be a multiple of the joined terms, apart from its other terms.
  const sums = [limit, ...others].map((sum) => {
    const times = ((sum.factors.get(first[0]) ?? 0) * unit) / Math.abs(first[1]);
    const isMultiple = terms.every(
      ([unknown, factor]) => (sum.factors.get(unknown) ?? 0) * unit === times * Math.abs(factor),
    );
    return { sum, times, isMultiple };
  });
  if (!sums.every(({ isMultiple }) => isMultiple)) return;
  const joined = {};
  values.set(joined, { low, high: low + reached });
  for (const { sum, times } of sums) {
    for (const [unknown] of terms) sum.factors.delete(unknown);
    if (times !== 0) sum.factors.set(joined, times);
  }
}

function commonDivisor(a: number, b: number): number {
  return b === 0 ? a : commonDivisor(b, a % b);
}

/**
 * Narrows the values of one unknown so that the limit holds, whatever the others are. Returns false
 * if no value is left.
 */
function narrow({ constant, factors }: Linear, values: Map<object, Interval>): boolean {
  const [largest, ...others] = [...factors].sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  const least = others.reduce((sum, [unknown, factor]) => {
    const { low, high } = values.get(unknown)!;
    return sum + factor * (factor > 0 ? low : high);
  }, constant);
  if (!largest) return constant >= 0;
  const [unknown, factor] = largest;
  const { low, high } = values.get(unknown)!;
  const narrowed =
    factor > 0
      ? { low: Math.max(low, Math.ceil(-least / factor)), high }
      : { low, high: Math.min(high, Math.floor(least / -factor)) };
  values.set(unknown, narrowed);
  return narrowed.low <= narrowed.high;
}

/**
 * Returns the bytes from the first address on that are filled without a gap, in one or many runs.
 */
function rowFrom({ constant, factors }: Linear, bytes: number, values: ReadonlyMap<object, Interval>): Row {
  let start = constant;
  const parts: { readonly step: number; readonly more: number }[] = [];
  for (const [unknown, factor] of factors) {
    const { low, high } = values.get(unknown)!;
    start += factor * (factor > 0 ? low : high);
    if (high > low) parts.push({ step: Math.abs(factor), more: high - low });
  }
  let run = bytes;
  let [step, count] = [0, 1];
  for (const part of parts.sort((a, b) => a.step - b.step)) {
    if (step === 0 && part.step <= run) run += part.step * part.more;
    else if (step === 0) [step, count] = [part.step, part.more + 1];
    else if (part.step % step === 0 && part.step <= step * count) count += (part.step / step) * part.more;
  }
  return { start, end: start + run, step, count };
}

/** Returns the ranges that rows fill together, each as its first byte and its end. */
function rangesOf(rows: readonly Row[]): (readonly [number, number])[] {
  const steps = new Set(rows.map(({ step }) => step));
  const ranges = [...steps].flatMap((step) =>
    joined(rows.filter((row) => row.step === step)).map(({ start, end, count }) => {
      const isDense = end - start >= step;
      return [start, isDense ? end + step * (count - 1) : end] as const;
    }),
  );
  const sorted = ranges.sort(([a], [b]) => a - b);
  const all: [number, number][] = [];
  for (const [start, end] of sorted) {
    const last = all.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else all.push([start, end]);
  }
  return all;
}

/**
 * Joins rows of the same step that are adjacent or overlap. The joined row has as many elements as
 * the shorter one.
 */
function joined(rows: readonly Row[]): readonly Row[] {
  const longest = new Map<string, Row>();
  for (const row of rows) {
    const key = `${row.start} ${row.end}`;
    const other = longest.get(key);
    if (!other || other.count < row.count) longest.set(key, row);
  }
  const rest: Row[] = [];
  for (const row of [...longest.values()].sort((a, b) => a.start - b.start)) {
    const last = rest.at(-1);
    if (last && row.start <= last.end) {
      last.end = Math.max(last.end, row.end);
      last.count = Math.min(last.count, row.count);
    } else {
      rest.push({ ...row });
    }
  }
  return rest;
}

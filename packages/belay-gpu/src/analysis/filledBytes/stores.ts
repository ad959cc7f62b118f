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
  const all = new Map<string, { readonly of: BindingPoint; readonly boxes: Map<string, StoredBox> }>();
  for (const store of stores) {
    const box = boxOf(store);
    if (!box) continue;
    const key = `${store.of.group} ${store.of.binding}`;
    const known = all.get(key) ?? { of: store.of, boxes: new Map() };
    all.set(key, known);
    const place = JSON.stringify(box.parts);
    const same = known.boxes.get(place);
    known.boxes.set(place, same ? { ...same, runs: [...same.runs, ...box.runs] } : box);
  }
  return [...all.values()].flatMap(({ of, boxes }) =>
    rangesOf([...boxes.values()].flatMap(rowsOf)).map(([start, end]) => ({
      of,
      offset: start,
      size: end - start,
    })),
  );
}

/**
 * Runs of bytes that are filled at several places: each `part` stands for the places `step` bytes
 * apart, `more` of them besides the first. The parts are sorted by their steps.
 */
interface StoredBox {
  readonly runs: readonly { readonly start: number; readonly end: number }[];
  readonly parts: readonly { readonly step: number; readonly more: number }[];
}

/** The values of an unknown, from `low` to `high`. */
interface Interval {
  readonly low: number;
  readonly high: number;
}

/** A sum of multiples of unknowns whose intervals are known. */
interface Linear {
  constant: number;
  readonly factors: Map<object, number>;
}

/** Returns the bytes that a store fills for certain; undefined if there are none. */
function boxOf({ address, bytes, conditions }: BufferStore): StoredBox | undefined {
  const open: Sum[] = [];
  for (const condition of conditions) {
    if (condition === "unknown" || condition.max < 0) return undefined;
    if (condition.min < 0) open.push(condition);
  }
  const unknowns = unknownsIn([address, ...open]);
  const values = new Map<object, Interval>(
    unknowns.map((unknown) => [unknown, { low: 0, high: unknown.count - 1 }]),
  );
  const place = linear(address);
  const all = open.map(linear);
  if (!splitDividends(unknowns, [place, ...all], values)) return undefined;
  const limits = all.sort((a, b) => a.factors.size - b.factors.size);
  for (const [i, limit] of limits.entries()) {
    joinTerms(limit, [place, ...limits.slice(i + 1)], values);
    if (!narrow(limit, values)) return undefined;
  }
  return boxFrom(place, bytes, values);
}

const linear = ({ constant, terms }: Sum): Linear => ({
  constant,
  factors: new Map<Unknown, number>(terms),
});

/** Returns the unknowns in sums and in the dividends of their quotients, oldest first. */
function unknownsIn(sums: readonly Sum[]): Unknown[] {
  const found = new Set<Unknown>();
  const visit = ({ terms }: Sum) => {
    for (const unknown of terms.keys()) {
      if (found.has(unknown)) continue;
      found.add(unknown);
      if (unknown.division) visit(unknown.division.dividend);
    }
  };
  for (const sum of sums) visit(sum);
  return [...found].sort((a, b) => a.number - b.number);
}

/**
 * Rewrites sums without the dividends of quotients. A dividend becomes its quotient times the
 * divisor, plus a digit. The quotient and the digit take all pairs of values, where the dividend
 * takes all values of an interval. Returns false if that is not possible.
 */
function splitDividends(
  unknowns: readonly Unknown[],
  sums: readonly Linear[],
  values: Map<object, Interval>,
): boolean {
  const divisions = unknowns.flatMap((quotient) => {
    const { division } = quotient;
    return division ? [{ quotient, dividend: linear(division.dividend), divisor: division.divisor }] : [];
  });
  // A dividend consists of older unknowns only, which have been rewritten when its turn comes.
  return divisions.every(({ quotient, dividend, divisor }, i) => {
    const { constant, factors } = dividend;
    const interval = valuesOf([...factors], values);
    if (!interval || interval.low + constant !== 0) return false;
    const count = Math.floor((interval.high + constant + 1) / divisor);
    if (count === 0) return false;
    values.set(quotient, { low: 0, high: count - 1 });
    const digit = {};
    values.set(digit, { low: 0, high: divisor - 1 });
    const later = divisions.slice(i + 1).map((each) => each.dividend);
    return [...sums, ...later].every((sum) => {
      const times = multipleIn(sum, factors);
      if (times === undefined) return false;
      if (times === 0) return true;
      for (const unknown of factors.keys()) sum.factors.delete(unknown);
      sum.constant -= times * constant;
      addTerm(sum, quotient, times * divisor);
      addTerm(sum, digit, times);
      return true;
    });
  });
}

/** Returns how many times a sum has all of these terms; undefined if it has some more often. */
function multipleIn(sum: Linear, terms: ReadonlyMap<object, number>): number | undefined {
  const [first] = terms;
  const times = first ? (sum.factors.get(first[0]) ?? 0) / first[1] : 0;
  const isMultiple = [...terms].every(
    ([unknown, factor]) => (sum.factors.get(unknown) ?? 0) === times * factor,
  );
  return isMultiple ? times : undefined;
}

function addTerm({ factors }: Linear, unknown: object, factor: number): void {
  const sum = (factors.get(unknown) ?? 0) + factor;
  if (sum === 0) factors.delete(unknown);
  else factors.set(unknown, sum);
}

/**
 * Returns the values of a sum of positive multiples of unknowns; undefined if they have gaps.
 */
function valuesOf(
  terms: readonly (readonly [object, number])[],
  values: ReadonlyMap<object, Interval>,
): Interval | undefined {
  const parts = terms
    .map(([unknown, factor]) => ({ factor, ...values.get(unknown)! }))
    .sort((a, b) => a.factor - b.factor);
  let [low, reached] = [0, 0];
  for (const part of parts) {
    if (part.factor < 0 || part.factor > reached + 1 || part.high < part.low) return undefined;
    low += part.factor * part.low;
    reached += part.factor * (part.high - part.low);
  }
  return { low, high: low + reached };
}

/**
 * Rewrites a limit of several unknowns to one new unknown, which takes each value of an interval.
 * Rewrites the other sums too. Changes nothing if that is not possible.
 */
function joinTerms(limit: Linear, others: readonly Linear[], values: Map<object, Interval>): void {
  const terms = [...limit.factors];
  const [first] = terms;
  if (!first || terms.length < 2 || terms.some(([, factor]) => factor > 0 !== first[1] > 0)) return;
  const unit = terms.reduce((divisor, [, factor]) => commonDivisor(divisor, Math.abs(factor)), 0);
  const interval = valuesOf(
    terms.map(([unknown, factor]) => [unknown, Math.abs(factor) / unit]),
    values,
  );
  if (!interval) return;
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
  values.set(joined, interval);
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

function boxFrom(
  { constant, factors }: Linear,
  bytes: number,
  values: ReadonlyMap<object, Interval>,
): StoredBox {
  let start = constant;
  const parts: { readonly step: number; readonly more: number }[] = [];
  for (const [unknown, factor] of factors) {
    const { low, high } = values.get(unknown)!;
    start += factor * (factor > 0 ? low : high);
    if (high > low) parts.push({ step: Math.abs(factor), more: high - low });
  }
  return { runs: [{ start, end: start + bytes }], parts: parts.sort((a, b) => a.step - b.step) };
}

/**
 * Returns the rows of bytes that are filled without a gap. Adjacent runs join before each part, as
 * they are at all of its places.
 */
function rowsOf({ runs, parts }: StoredBox): readonly Row[] {
  let rows = joinedBySteps(runs.map(({ start, end }) => ({ start, end, step: 0, count: 1 })));
  for (const part of parts) rows = joinedBySteps(rows.map((row) => repeated(row, part)));
  return rows;
}

function repeated(row: Row, { step, more }: StoredBox["parts"][number]): Row {
  const isDense = row.step === 0;
  if (isDense && step <= row.end - row.start) return { ...row, end: row.end + step * more };
  if (isDense) return { ...row, step, count: more + 1 };
  const isNext = step % row.step === 0 && step <= row.step * row.count;
  return isNext ? { ...row, count: row.count + (step / row.step) * more } : row;
}

const joinedBySteps = (rows: readonly Row[]): readonly Row[] =>
  [...new Set(rows.map(({ step }) => step))].flatMap((step) =>
    joined(rows.filter((row) => row.step === step)),
  );

/** Returns the ranges that rows fill together, each as its first byte and its end. */
function rangesOf(rows: readonly Row[]): (readonly [number, number])[] {
  const ranges = joinedBySteps(rows).map(({ start, end, step, count }) => {
    const isDense = end - start >= step;
    return [start, isDense ? end + step * (count - 1) : end] as const;
  });
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

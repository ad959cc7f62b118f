/** Fits maps of addresses to sampled results of a dispatch, which are sums of products. */
import type { BindingAccess } from "../analysis/bindings.ts";
import type { KnownDispatch } from "../analysis/filledBytes/filledBytes.ts";
import { type Digit, type DigitMap, digitsOf, divisorsOf, fitDigits, type KnownAddresses } from "./digits.ts";
import { NoFit, NoForm } from "./noFit.ts";
import { operandOf } from "./operand.ts";
import type { Dimension, SumsOfProducts, Window } from "./sums.ts";
import { bitsOf, isPacked, type Precision, type Source, type SymbolicSum, type Term } from "./symbols.ts";

/** A sampled result. */
export interface SampledResult {
  /** The offset in the output, in numbers. */
  readonly offset: number;
  readonly sum: SymbolicSum;
}

/** The sampled results, and their format. */
export interface SampledResults {
  readonly format: Precision;
  readonly samples: readonly SampledResult[];
  /** The least offset of a result, and the number of offsets up to the largest. */
  readonly least: number;
  readonly count: number;
}

/** The number of a result that tells where terms are missing. */
export interface Unclear {
  readonly unclear: number;
}

/**
 * Returns the indices at `count / q`, and those before, for each prime power `q` that divides
 * `count`. They tell two coordinates apart whose different periods divide `count`. Not both of them
 * begin anew at all these indices, as some `q` has more of a prime than one period leaves.
 */
function edgesOf(count: number): number[] {
  const powers = divisorsOf(count).filter((each) => each > 1 && isPrimePower(each));
  return powers.flatMap((power) => [count / power, count / power - 1]);
}

/** Returns true for a power of one prime. */
function isPrimePower(number: number): boolean {
  const prime = divisorsOf(number)[1]!;
  return prime ** Math.round(Math.log(number) / Math.log(prime)) === number;
}

/** The addresses of a product's two factors, and of the scale of one. */
type Pair = readonly [left: number, right: number, scale: number];

/** The sources of the numbers of a sum, and their factors. */
interface Parts {
  readonly left: Source;
  readonly right: Source;
  readonly scale: Source | undefined;
  readonly added: Source | undefined;
  readonly addedScale: number;
  readonly coefficient: number;
}

/** Fits maps of addresses to sampled results. */
export class Fit {
  readonly #bindings: readonly BindingAccess[];
  readonly #dispatch: KnownDispatch;
  readonly #output: BindingAccess;
  readonly #format: Precision;
  readonly #samples: readonly SampledResult[];
  readonly #least: number;
  readonly #count: number;
  /** The roundings to nearest that bound one rounding of the kernel. */
  readonly #unit: number;

  constructor(
    bindings: readonly BindingAccess[],
    dispatch: KnownDispatch,
    output: BindingAccess,
    { format, samples, least, count }: SampledResults,
    unit: number,
  ) {
    this.#unit = unit;
    this.#bindings = bindings;
    this.#dispatch = dispatch;
    this.#output = output;
    this.#format = format;
    this.#samples = samples;
    this.#least = least;
    this.#count = count;
  }

  /** Returns the fitted sums, or the number of a result on which they depend. Throws `NoFit`. */
  result(): SumsOfProducts | Unclear {
    const parts = partsOf(this.#samples, this.#bindings.indexOf(this.#output));
    const { left, right } = parts;
    try {
      return this.#fit(parts);
    } catch (error) {
      // Terms may be missing at the edges of one operand, which has to be the left one.
      if (!(error instanceof NoFit) || left === right) throw error;
      try {
        return this.#fit({ ...parts, left: right, right: left });
      } catch {
        throw error;
      }
    }
  }

  #fit({ left, right, scale, added, addedScale, coefficient }: Parts): SumsOfProducts | Unclear {
    const sums = this.#samples.map(({ offset, sum }) => ({
      index: offset - this.#least,
      pairs: pairsOf(sum, left, scale),
      plus: sum.terms.flatMap(({ factors }) => (factors.length === 1 ? [factors[0]!.address] : [])),
    }));
    if (added && sums.some(({ plus }) => plus.length !== 1))
      throw new NoFit("it adds a number to some results only, or several");
    const isInPlace = added?.buffer === this.#bindings.indexOf(this.#output);
    if (isInPlace && sums.some(({ index, plus }) => plus[0] !== this.#least + index))
      throw new NoFit("it adds results to other ones");
    const bytes = this.#dispatch.sizeOf(this.#bindings[right.buffer]!)!;
    const pattern = new Pattern(
      sums.map(({ pairs }) => pairs),
      (8 * bytes) / bitsOf(right.format),
    );
    const terms = pattern.map();
    const facts: KnownAddresses[] = [];
    const present: { readonly index: number; readonly terms: ReadonlySet<number> }[] = [];
    for (const { index, pairs, plus } of sums) {
      if (pairs.length === 0) throw new NoFit("a result has no terms");
      const base = pattern.baseOf(pairs);
      facts.push({ index, at: [...base, plus[0] ?? 0] });
      present.push({ index, terms: pattern.numbersOf(pairs, base) });
    }
    const results = fitDigits(facts, this.#count);
    if (!results) throw new NoFit("the addresses of its results have no pattern");
    const windows = windowsOf(results.digits, terms.digits, present, edgesOf(this.#count));
    if (!windows) throw new NoFit("some of its terms are missing without a pattern");
    if ("unclear" in windows) return windows;
    const operand = (each: Source) => operandOf(this.#bindings, each);
    const isHalf = this.#samples.some(({ sum }) => sum.isHalf);
    const all = this.#samples.flatMap(({ sum }) => sum.terms);
    return {
      output: operand({ buffer: this.#bindings.indexOf(this.#output), format: this.#format, plus: 0 }),
      first: this.#least,
      count: this.#count,
      left: operand(left),
      right: operand(right),
      ...(added && { added: operand(added) }),
      ...(scale && { scale: { ...operand(scale), scaled: scaledOf(left, right, results.digits) } }),
      start: stepsOf(results.start),
      results: results.digits.map(dimensionOf),
      terms: terms.digits.map(dimensionOf),
      windows,
      coefficient,
      addedScale,
      scaling: this.#samples.reduce((most, { sum }) => Math.max(most, scalingOf(sum)), 1),
      roundings: this.#unit * all.reduce((most, each) => Math.max(most, each.roundings), 0),
      precision: isHalf ? "f16" : "f32",
    };
  }
}

/** Returns true if sums may be checked, as far as their terms tell. */
export function hasForm(samples: readonly SampledResult[], output: number): boolean {
  try {
    partsOf(samples, output);
    return true;
  } catch (error) {
    if (error instanceof NoFit) return false;
    throw error;
  }
}

/**
 * Returns the sources of the factors, of single numbers that are added, and the coefficients.
 * Throws `NoForm` where the results are no such sums. `output` is the number of their binding.
 */
function partsOf(samples: readonly SampledResult[], output: number): Parts {
  const terms = samples.flatMap(({ sum }) => sum.terms);
  const products = terms.filter(isProduct);
  const singles = terms.filter(({ factors }) => factors.length === 1);
  if (products.length === 0) throw new NoForm("its results have no products of loaded numbers");
  if (terms.some(({ factors }) => factors.length === 0)) throw new NoForm("it adds constants");
  if (products.some(({ factors }) => factors.some(({ source }) => source.buffer === output)))
    throw new NoForm("its results are factors of others");
  const all = [...new Set(products.flatMap(({ factors }) => factors.map(({ source }) => source)))];
  const [{ factors: first, coefficient }] = products as [Term];
  const isAlike = ({ factors }: Term) =>
    factors.length === first.length && all.every((each) => factors.some(({ source }) => source === each));
  if (all.length > first.length || !products.every(isAlike))
    throw new NoForm("its products have factors of several buffers");
  // Only integers have a scale.
  if (first.length > 2 && (all.length < first.length || !all.some(({ format }) => isPacked(format))))
    throw new NoForm("its products have three factors");
  const scale = first.length > 2 ? scaleOf(all, samples) : undefined;
  const [left, right = left] = all.filter((each) => each !== scale).sort((x, y) => x.buffer - y.buffer) as [
    Source,
    Source?,
  ];
  const added = [...new Set(singles.map(({ factors }) => factors[0]!.source))];
  if (added.length > 1) throw new NoForm("it adds numbers of several buffers");
  const addedScale = singles[0]?.coefficient ?? 1;
  if (singles.some((each) => each.coefficient !== addedScale))
    throw new NoForm("it scales what it adds by several factors");
  if (products.some((each) => each.coefficient !== coefficient)) throw new NoForm("its terms have weights");
  return { left, right, scale, added: added[0], addedScale, coefficient };
}

/** Returns the largest factor by which numbers of a sum are scaled up or down. */
export const scalingOf = ({ least, most }: SymbolicSum): number => Math.max(1 / least, most);

const isProduct = ({ factors }: Term): boolean => factors.length > 1;

/** Returns the addresses of the products of a sum, in ascending order. */
function pairsOf({ terms }: SymbolicSum, left: Source, scale: Source | undefined): Pair[] {
  const pairs = terms.filter(isProduct).map(({ factors }): Pair => {
    const scaling = factors.find(({ source }) => source === scale);
    const [x, y] = factors.filter((each) => each !== scaling);
    const [a, b] = x!.source === left ? [x!, y!] : [y!, x!];
    return [a.address, b.address, scaling?.address ?? 0];
  });
  return pairs.sort((p, q) => p[0] - q[0] || p[1] - q[1]);
}

/** Returns the source of the scales: the one whose numbers most terms of a sum share. */
function scaleOf(sources: readonly Source[], samples: readonly SampledResult[]): Source {
  const { terms } = samples.reduce((a, b) => (b.sum.terms.length > a.sum.terms.length ? b : a)).sum;
  const countOf = (of: Source) =>
    new Set(
      terms.flatMap(({ factors }) => factors.flatMap((each) => (each.source === of ? each.address : []))),
    ).size;
  return [...sources].sort((a, b) => countOf(a) - countOf(b) || b.format.localeCompare(a.format))[0]!;
}

/** Returns the factor that has scales: integers that change wherever their scales do. */
function scaledOf(left: Source, right: Source, results: readonly Digit[]): "left" | "right" {
  const changes = ([inLeft, inRight]: readonly number[], side: string) =>
    side === "left" ? inLeft : inRight;
  for (const [side, { format }] of [
    ["left", left],
    ["right", right],
  ] as const)
    if (isPacked(format) && results.every(({ steps }) => steps[2] === 0 || changes(steps, side) !== 0))
      return side;
  throw new NoFit("its products have three factors");
}

/** Returns the steps of addresses, by operand. */
const stepsOf = ([left = 0, right = 0, scale = 0, added = 0]: readonly number[]): Omit<
  Dimension,
  "size"
> => ({
  left,
  right,
  added,
  scale,
});

const dimensionOf = ({ size, steps }: Digit): Dimension => ({ size, ...stepsOf(steps) });

/** The addresses of the terms of all results, relative to each result's first term. */
class Pattern {
  /** The terms of a result that has all of them. */
  readonly #terms: readonly Pair[];
  /** The numbers of the terms, by their relative addresses. */
  readonly #numbers = new Map<number, number>();
  /** The first and the last address of a first right factor with which all right factors exist. */
  readonly #first: number;
  readonly #last: number;
  /** The least and the largest address of a first right factor, and the step between them. */
  readonly #rights: { readonly least: number; readonly most: number; readonly step: number };

  /** `rightCount` is the number of right factors. */
  constructor(all: readonly (readonly Pair[])[], rightCount: number) {
    const longest = all.reduce((a, b) => (b.length > a.length ? b : a));
    const [left, right, scale] = longest[0]!;
    this.#terms = longest.map(([a, b, c]) => [a - left, b - right, c - scale]);
    for (const [t, pair] of this.#terms.entries()) this.#numbers.set(keyOf(pair), t);
    const relative = this.#terms.map((pair) => pair[1]);
    this.#first = -relative.reduce((a, b) => Math.min(a, b));
    this.#last = rightCount - 1 - relative.reduce((a, b) => Math.max(a, b));
    const rights = all.flatMap((pairs) => (pairs.length === longest.length ? [pairs[0]![1]] : []));
    const [least, most] = [Math.min(...rights), Math.max(...rights)];
    this.#rights = { least, most, step: rights.reduce((step, each) => divisor(step, each - least), 0) };
  }

  /** Returns the map from the number of a term to its relative addresses. */
  map(): DigitMap {
    const map = fitDigits(
      this.#terms.map((at, index) => ({ index, at })),
      this.#terms.length,
    );
    if (!map) throw new NoFit("the addresses of its terms have no pattern");
    return map;
  }

  /** Returns the addresses of a result's first term, even if this term is missing. */
  baseOf(pairs: readonly Pair[]): Pair {
    const isWhole = pairs.length === this.#terms.length;
    const [left, right, scale] = pairs[0]!;
    const bases = (isWhole ? this.#terms.slice(0, 1) : this.#terms)
      .map(([a, b, c]): Pair => [left - a, right - b, scale - c])
      .filter((base) => this.#mayBegin(base[1]))
      .sort((a, b) => this.#oddityOf(a) - this.#oddityOf(b));
    for (const base of bases)
      if (pairs.every((pair) => this.#numberOf(pair, base) !== undefined)) return base;
    throw new NoFit("the terms of its results have several patterns");
  }

  /** Returns the numbers of the terms that a result has. */
  numbersOf(pairs: readonly Pair[], base: Pair): ReadonlySet<number> {
    return new Set(pairs.map((pair) => this.#numberOf(pair, base)!));
  }

  #numberOf([a, b]: Pair, base: Pair): number | undefined {
    return this.#numbers.get(keyOf([a - base[0], b - base[1], 0]));
  }

  /** Returns false if the first right factor of no result with all terms can be at an address. */
  #mayBegin(right: number): boolean {
    const { least, step } = this.#rights;
    return step === 0 || (right - least) % step === 0;
  }

  /**
   * Returns how unusual a base is. Only left factors may be missing, and the right factors of
   * results with all terms begin at similar addresses.
   */
  #oddityOf([, right]: Pair): number {
    const { least, most } = this.#rights;
    const distance = Math.max(least - right, right - most, 0);
    return right < this.#first || right > this.#last ? 2 ** 32 + distance : distance;
  }
}

const keyOf = ([a, b]: Pair): number => a * 2 ** 27 + b;

/** Returns the greatest common divisor. */
const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));

/** The terms that a sampled result has. */
interface Present {
  readonly index: number;
  readonly terms: ReadonlySet<number>;
}

/** The least and the largest value of a digit. */
interface Range {
  readonly low: number;
  readonly high: number;
}

/**
 * Returns the conditions that the existing terms meet and that each missing term fails; undefined
 * if there are none. If several differ at the given edges, the edge at which most differ is
 * returned. A result's coordinate may be only a part of one of its digits, because the rows of an
 * image often have no gap between them.
 */
function windowsOf(
  results: readonly Digit[],
  terms: readonly Digit[],
  present: readonly Present[],
  edges: readonly number[],
): readonly Window[] | Unclear | undefined {
  const count = terms.reduce((product, { size }) => product * size, 1);
  if (present.every((each) => each.terms.size === count)) return [];
  const numbers = Array.from({ length: count }, (_, t) => digitsOf(terms, t));
  const ranges = present.map((each) =>
    terms.map((_, n) => rangeOf([...each.terms].map((t) => numbers[t]![n]!))),
  );
  const isBox = present.every(({ terms: has }, i) => {
    const sizes = ranges[i]!.map(({ low, high }) => high - low + 1);
    return has.size === sizes.reduce((product, size) => product * size);
  });
  if (!isBox) return undefined;
  const windows: Window[] = [];
  for (const [n, { size }] of terms.entries()) {
    if (ranges.every((each) => each[n]!.low === 0 && each[n]!.high === size - 1)) continue;
    const existing = (each: Window, index: number): Range => {
      const at = each.scale * coordinateAt(each, index);
      return { low: Math.max(0, each.low - at), high: Math.min(size - 1, each.high - at) };
    };
    const isSame = (a: Range, b: Range) => a.low === b.low && a.high === b.high;
    const [window, ...others] = coordinatesOf(results, terms[n]!, n)
      .map((each) => limited(each, present, ranges))
      .filter((each) => present.every(({ index }, i) => isSame(existing(each, index), ranges[i]![n]!)));
    if (!window) return undefined;
    const differing = (i: number) =>
      others.filter((each) => !isSame(existing(window, i), existing(each, i))).length;
    const [unclear] = edges.filter((i) => differing(i) > 0).sort((i, j) => differing(j) - differing(i));
    if (unclear !== undefined) return { unclear };
    windows.push(window);
  }
  return windows;
}

type Coordinate = Omit<Window, "low" | "high">;

const coordinateAt = ({ unit, size }: Coordinate, index: number) => Math.floor(index / unit) % size;

/** Returns the parts of results' digits whose steps are multiples of a term's step. */
function coordinatesOf(results: readonly Digit[], { steps: [by] }: Digit, term: number): Coordinate[] {
  let stride = 1;
  return results.flatMap(({ size, steps: [step] }) => {
    const first = stride;
    stride *= size;
    return divisorsOf(size).flatMap((skipped) => {
      const scale = (step! * skipped) / by!;
      if (!Number.isInteger(scale) || scale === 0) return [];
      return divisorsOf(size / skipped)
        .filter((each) => each > 1)
        .map((each) => ({ unit: first * skipped, size: each, term, scale }));
    });
  });
}

/** Returns a condition with the limits that all results keep to. */
function limited(
  each: Coordinate,
  present: readonly Present[],
  ranges: readonly (readonly Range[])[],
): Window {
  const positions = present.map(({ index }) => each.scale * coordinateAt(each, index));
  const lows = positions.map((at, i) => at + ranges[i]![each.term]!.low);
  const highs = positions.map((at, i) => at + ranges[i]![each.term]!.high);
  return { ...each, low: Math.min(...lows), high: Math.max(...highs) };
}

const rangeOf = (values: readonly number[]): Range => ({
  low: values.reduce((a, b) => Math.min(a, b)),
  high: values.reduce((a, b) => Math.max(a, b)),
});

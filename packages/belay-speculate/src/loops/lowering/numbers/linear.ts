/**
 * A bound of integers that is fully known only when the loop starts: a constant plus products of
 * host values, each with a coefficient. `n * width - 1` is `{ constant: -1, terms: { "n × width": 1
 * } }`.
 */
export interface Linear {
  /** The constant part; NaN, without terms, if the bound is unknown. */
  readonly constant: number;
  /** The coefficients by monomial, which is the JavaScript of its factors in order. */
  readonly terms: ReadonlyMap<string, number>;
  /** The values of the bound if every host value were each of `examples`. */
  readonly samples: readonly number[];
  /** The bounds of which this one is the minimum or maximum, if it is one. */
  readonly extreme?: { readonly name: "min" | "max"; readonly of: readonly Linear[] };
}

/** Typical sizes in programs. */
const examples = [1e2, 1e4, 1e6];

/**
 * The separator between the factors of a monomial. No JavaScript expression without strings
 * contains it.
 */
const times = " × ";
/** The largest length of a bound's code that is worth checking. */
const longest = 400;

export const constant = (value: number): Linear => ({
  constant: value,
  terms: new Map(),
  samples: examples.map(() => value),
});
export const zero = constant(0);
export const unknown = constant(Number.NaN);

/**
 * Returns a bound that the host computes. The code must be a primary expression, so that it can be
 * a factor.
 */
export function hostValue(code: string, samples: readonly number[] = examples): Linear {
  return code.length > longest ? unknown : { constant: 0, terms: new Map([[code, 1]]), samples };
}

/**
 * Returns the number if it does not depend on the host, and undefined if it does; NaN if the bound
 * is unknown.
 */
export const known = ({ constant, terms }: Linear) => (terms.size === 0 ? constant : undefined);
export const isUnknown = ({ constant }: Linear) => Number.isNaN(constant);

const both = (left: Linear, right: Linear, combine: (a: number, b: number) => number) =>
  left.samples.map((sample, at) => combine(sample, right.samples[at]!));

export function add(left: Linear, right: Linear): Linear {
  if (known(right) === 0) return left;
  if (known(left) === 0) return right;
  const sum = left.constant + right.constant;
  if (!Number.isFinite(sum)) return unknown;
  const terms = new Map(left.terms);
  for (const [monomial, coefficient] of right.terms) {
    const total = (terms.get(monomial) ?? 0) + coefficient;
    if (total === 0) terms.delete(monomial);
    else terms.set(monomial, total);
  }
  return { constant: sum, terms, samples: both(left, right, (a, b) => a + b) };
}

export function scale(bound: Linear, factor: number): Linear {
  if (factor === 0) return zero;
  if (factor === 1) return bound;
  const { constant, terms, samples } = bound;
  return {
    constant: constant * factor,
    terms: new Map([...terms].map(([monomial, coefficient]) => [monomial, coefficient * factor])),
    samples: samples.map((sample) => sample * factor),
  };
}

export const subtract = (left: Linear, right: Linear) => add(left, scale(right, -1));

export function multiply(left: Linear, right: Linear): Linear {
  if (left.terms.size === 0) return scale(right, left.constant);
  if (right.terms.size === 0) return scale(left, right.constant);
  let product = constant(left.constant * right.constant);
  product = add(product, scale({ ...left, constant: 0 }, right.constant));
  product = add(product, scale({ ...right, constant: 0 }, left.constant));
  for (const [one, a] of left.terms) {
    for (const [other, b] of right.terms) {
      const monomial = [...one.split(times), ...other.split(times)].sort().join(times);
      product = add(product, scale(hostValue(monomial), a * b));
    }
  }
  return isUnknown(product) ? unknown : { ...product, samples: both(left, right, (a, b) => a * b) };
}

/** Returns the quotient of two positive bounds, rounded down. */
export function quotient(left: Linear, right: Linear): Linear {
  const [dividend, divisor] = [known(left), known(right)];
  if (dividend !== undefined && divisor !== undefined) return constant(Math.floor(dividend / divisor));
  if (isUnknown(left) || isUnknown(right)) return unknown;
  const samples = both(left, right, (a, b) => Math.floor(a / b));
  return hostValue(`Math.floor((${codeOf(left)}) / (${codeOf(right)}))`, samples);
}

/** Returns the distance of two bounds if it does not depend on the host; undefined if it does. */
export const difference = (left: Linear, right: Linear) => {
  const apart = known(subtract(left, right));
  return Number.isNaN(apart) ? undefined : apart;
};

/** Returns the minimum or maximum of some bounds, without bounds that another one implies. */
function extreme(name: "min" | "max", left: Linear, right: Linear): Linear {
  if (isUnknown(left) || isUnknown(right)) return unknown;
  const partsOf = (bound: Linear) => (bound.extreme?.name === name ? bound.extreme.of : [bound]);
  const isCovered = (bound: Linear, other: Linear) => {
    const apart = difference(bound, other);
    return apart !== undefined && (name === "min" ? apart >= 0 : apart <= 0);
  };
  let bounds: readonly Linear[] = [];
  for (const bound of [...partsOf(left), ...partsOf(right)]) {
    if (bounds.some((other) => isCovered(bound, other))) continue;
    bounds = [...bounds.filter((other) => !isCovered(other, bound)), bound];
  }
  if (bounds.length === 1) return bounds[0]!;
  const samples = examples.map((_, at) => Math[name](...bounds.map((bound) => bound.samples[at]!)));
  const value = hostValue(`Math.${name}(${bounds.map(codeOf).join(", ")})`, samples);
  return isUnknown(value) ? unknown : { ...value, extreme: { name, of: bounds } };
}

export const minimum = (left: Linear, right: Linear) => extreme("min", left, right);
export const maximum = (left: Linear, right: Linear) => extreme("max", left, right);

/** Returns JavaScript that computes the bound. */
export function codeOf({ constant, terms }: Linear): string {
  const products = [...terms].map(([monomial, coefficient]) => {
    const product = monomial.replaceAll(times, " * ");
    if (coefficient === 1) return product;
    return coefficient === -1 ? `-${product}` : `${coefficient} * ${product}`;
  });
  const parts = constant === 0 && products.length > 0 ? products : [...products, String(constant)];
  return parts.join(" + ").replaceAll(" + -", " - ");
}

/**
 * Rates of rare events. The intervals are Wilson's, which hold near zero. A Wald interval for no
 * event in a thousand trials would claim certainty.
 *
 * Source: Wilson, "Probable inference, the law of succession, and statistical inference", 1927;
 * Newcombe, "Interval estimation for the difference between independent proportions", 1998, method
 * 10.
 */

/** A rate with its interval. */
export interface Rate {
  readonly events: number;
  readonly trials: number;
  /** The events per trial. Without trials the rate is 0, and the interval is from 0 to 1. */
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Returns the Wilson score interval of `events` in `trials`, for a two-sided `confidence` such as
 * 0.95.
 */
export function wilson(events: number, trials: number, confidence: number): Rate {
  if (trials === 0) return { events, trials, rate: 0, low: 0, high: 1 };
  const rate = events / trials;
  const z = normalQuantile((1 + confidence) / 2);
  const center = (rate + z ** 2 / (2 * trials)) / (1 + z ** 2 / trials);
  const half = halfWidth(rate, trials, z);
  // Rounding must not move a bound past the rate.
  const low = events === 0 ? 0 : Math.min(rate, center - half);
  return { events, trials, rate, low, high: events === trials ? 1 : Math.max(rate, center + half) };
}

const halfWidth = (rate: number, trials: number, z: number) =>
  (z / (1 + z ** 2 / trials)) * Math.sqrt((rate * (1 - rate)) / trials + z ** 2 / (4 * trials ** 2));

/**
 * Returns the fewest trials for which the half-width of the Wilson interval around `rate` is at
 * most `margin`.
 */
export function trialsForMargin(rate: number, margin: number, confidence: number): number {
  const z = normalQuantile((1 + confidence) / 2);
  return fewest((trials) => halfWidth(rate, trials, z) <= margin);
}

/**
 * Returns the fewest trials for which the interval's upper bound is at most `bound`, when events
 * occur at `rate`. Returns infinity if `rate` is not below `bound`.
 */
export function trialsForBound(rate: number, bound: number, confidence: number): number {
  if (rate >= bound) return Number.POSITIVE_INFINITY;
  return fewest((trials) => wilson(rate * trials, trials, confidence).high <= bound);
}

/**
 * Returns the least positive whole number for which `holds` is true, or infinity beyond the safe
 * integers. `holds` must stay true for all larger numbers.
 */
function fewest(holds: (count: number) => boolean): number {
  let high = 1;
  while (!holds(high)) {
    if (high > Number.MAX_SAFE_INTEGER) return Number.POSITIVE_INFINITY;
    high *= 2;
  }
  let low = Math.floor(high / 2);
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/**
 * Returns the probability of at least `events` rare and independent events when `expected` are
 * expected (Poisson).
 */
export function chanceOfAtLeast(events: number, expected: number): number {
  let [term, below] = [Math.exp(-expected), 0];
  for (let count = 0; count < events; count++) {
    below += term;
    term *= expected / (count + 1);
  }
  return Math.max(0, 1 - below);
}

/** The difference of two rates, `b` less `a`, with its interval. */
export interface Difference {
  readonly difference: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Returns Newcombe's interval for the difference of two independent rates, computed from their
 * Wilson intervals.
 */
export function differenceOf(a: Rate, b: Rate): Difference {
  const difference = b.rate - a.rate;
  return {
    difference,
    low: difference - Math.hypot(b.rate - b.low, a.high - a.rate),
    high: difference + Math.hypot(b.high - b.rate, a.rate - a.low),
  };
}

/** A mean of rates with weights, and its interval. */
export interface WeightedRate {
  readonly trials: number;
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

/**
 * Returns the mean of independent rates with weights, which are scaled to a sum of 1. The squares
 * of the distances from each rate to its Wilson limits add up, each times the square of its weight.
 * The interval therefore holds without an event, and a small group with a great weight widens it.
 * Newcombe's interval is the case of the weights 1 and -1.
 *
 * Source: Zou, Huang and Zhang, "A note on confidence interval estimation for a linear function of
 * binomial proportions", 2009.
 */
export function weightedMean(
  parts: readonly { readonly weight: number; readonly rate: Rate }[],
): WeightedRate {
  const all = parts.reduce((sum, { weight }) => sum + weight, 0);
  const mean = (of: (rate: Rate) => number) =>
    parts.reduce((sum, { weight, rate }) => sum + (weight / all) * of(rate), 0);
  const distance = (of: (rate: Rate) => number) =>
    Math.hypot(...parts.map(({ weight, rate }) => (weight / all) * of(rate)));
  const rate = mean((each) => each.rate);
  return {
    trials: parts.reduce((sum, part) => sum + part.rate.trials, 0),
    rate,
    low: Math.max(0, rate - distance((each) => each.rate - each.low)),
    high: Math.min(1, rate + distance((each) => each.high - each.rate)),
  };
}

/**
 * Returns a quantile of the standard normal distribution, with a relative error below 1.2e-9.
 * Source: Acklam, "An algorithm for computing the inverse normal cumulative distribution function",
 * 2003.
 */
export function normalQuantile(probability: number): number {
  if (probability < 0.02425) return tail(probability);
  if (probability > 1 - 0.02425) return -tail(1 - probability);
  const q = probability - 0.5;
  const r = q * q;
  const numerator = [
    -39.69683028665376, 220.9460984245205, -275.9285104469687, 138.357751867269, -30.66479806614716,
    2.506628277459239,
  ];
  const denominator = [
    -54.47609879822406, 161.5858368580409, -155.6989798598866, 66.80131188771972, -13.28068155288572, 1,
  ];
  return (polynomial(numerator, r) * q) / polynomial(denominator, r);
}

function tail(probability: number): number {
  const q = Math.sqrt(-2 * Math.log(probability));
  const numerator = [
    -0.007784894002430293, -0.3223964580411365, -2.400758277161838, -2.549732539343734, 4.374664141464968,
    2.938163982698783,
  ];
  const denominator = [0.007784695709041462, 0.3224671290700398, 2.445134137142996, 3.754408661907416, 1];
  return polynomial(numerator, q) / polynomial(denominator, q);
}

/** Evaluates a polynomial by Horner's rule. The coefficient of the highest power comes first. */
const polynomial = (coefficients: readonly number[], x: number) =>
  coefficients.reduce((sum, coefficient) => sum * x + coefficient, 0);

/**
 * Floating-point arithmetic on intervals. The interval of a result contains every value that the
 * WGSL specification allows an implementation to compute: other roundings, fused operations, and
 * subnormal numbers that count as zero. An interval of NaN stands for an unknown value.
 *
 * Source: WGSL specification, "Floating Point Accuracy" and "Reassociation and Fusion".
 */
import type { FloatFormat } from "./floatFormat.ts";
import { Undecided } from "./undecided.ts";

/** The bounds of the result of the last operation. Generated code reads them at once. */
export type Bounds = Float64Array;

/** The errors that the specification grants to functions of one format. */
interface Accuracy {
  /** The absolute error of sine and cosine within [-π, π]. */
  readonly sine: number;
  /** The absolute error of logarithms within [0.5, 2]. */
  readonly logarithm: number;
  /** The units in the last place of an exponential at 0. Each unit of the argument adds two. */
  readonly exponential: number;
  /** The units in the last place of arc functions. */
  readonly arc: number;
  /** The absolute errors of arc cosine, arc sine and hyperbolic tangent. */
  readonly arcCosine: number;
  readonly arcSine: number;
  readonly hyperbolicTangent: number;
}

const accuracies: Readonly<Record<FloatFormat["name"], Accuracy>> = {
  f32: {
    sine: 2 ** -11,
    logarithm: 2 ** -21,
    exponential: 3,
    arc: 4096,
    arcCosine: 6.77e-5,
    arcSine: 6.81e-5,
    hyperbolicTangent: 1e-5,
  },
  f16: {
    sine: 2 ** -7,
    logarithm: 2 ** -7,
    exponential: 1,
    arc: 5,
    arcCosine: 3.91e-3,
    arcSine: 3.91e-3,
    hyperbolicTangent: 3.91e-3,
  },
};

/**
 * The numbers that can stand for an interval where its rounding decides a branch or an integer, the
 * likeliest one first.
 */
export const representatives = ["middle", "high", "low"] as const;
export type Representative = (typeof representatives)[number];

/**
 * Returns the operations on intervals of one format. Each writes its result to `r`. Without a
 * representative, execution ends where rounding decides.
 */
export function intervalArithmetic(format: FloatFormat, r: Bounds, chosen?: Representative) {
  const { max, minNormal, round, below, ulp } = format;
  const accuracy = accuracies[format.name];

  const unknown = () => {
    r[0] = Number.NaN;
    r[1] = Number.NaN;
  };
  /** Sets the result to `low` and `high`, which numbers of the format bound already. */
  const exactly = (low: number, high: number) => {
    r[0] = low;
    r[1] = high;
  };
  /**
   * Sets the result to the numbers of the format around two real numbers. `lowRest` and `highRest`
   * have the signs of what the doubles leave out.
   */
  const around = (low: number, high: number, lowRest = 0, highRest = 0) => {
    if (!(low >= -max && high <= max)) return unknown();
    let [from, to] = [round(low), round(high)];
    if (from > low || (from === low && lowRest < 0)) from = below(from);
    if (to < high || (to === high && highRest > 0)) to = -below(-to);
    if (from < -max || to > max) return unknown();
    if (from > 0 && from < minNormal) from = 0;
    if (to < 0 && to > -minNormal) to = 0;
    exactly(from, to);
  };
  /** Sets the result to an interval that is wider by a number of units in the last place. */
  const within = (low: number, high: number, lowUnits: number, highUnits = lowUnits) => {
    if (!(low >= -max && high <= max)) return unknown();
    around(low - lowUnits * ulp(low), high + highUnits * ulp(high));
  };
  const isUnknown = (low: number): boolean => Number.isNaN(low);
  const undecided = (what: string): never => {
    throw new Undecided(`${what} depends on rounding`, "rounding");
  };
  /** Returns the number that stands for an interval. Throws for an unknown value. */
  const standIn = (low: number, high: number, what: string): number => {
    if (!chosen || isUnknown(low)) return undecided(what);
    return { low, middle: low / 2 + high / 2, high }[chosen];
  };
  /** Returns the order of the numbers that stand for two intervals. */
  const order = (al: number, ah: number, bl: number, bh: number): number =>
    standIn(al, ah, "a comparison") - standIn(bl, bh, "a comparison");

  /** Returns the rest that the double `sum` of two doubles leaves out. Source: Knuth, TwoSum. */
  const restOf = (a: number, b: number, sum: number): number => {
    const virtual = sum - a;
    return a - (sum - virtual) + (b - virtual);
  };
  const add = (al: number, ah: number, bl: number, bh: number) => {
    const [low, high] = [al + bl, ah + bh];
    around(low, high, restOf(al, bl, low), restOf(ah, bh, high));
  };
  const multiply = (al: number, ah: number, bl: number, bh: number) => {
    // Products of two numbers of f32 are exact in doubles.
    const [p, q, s, t] = [al * bl, al * bh, ah * bl, ah * bh];
    around(Math.min(p, q, s, t), Math.max(p, q, s, t));
  };
  const divide = (al: number, ah: number, bl: number, bh: number) => {
    // The accuracy is specified for divisors of a magnitude from 2**-126 to 2**126.
    const least = Math.min(Math.abs(bl), Math.abs(bh));
    const most = Math.max(Math.abs(bl), Math.abs(bh));
    if (!(bl > 0 || bh < 0) || least < minNormal || most > 1 / minNormal) return unknown();
    const [p, q, s, t] = [al / bl, al / bh, ah / bl, ah / bh];
    within(Math.min(p, q, s, t), Math.max(p, q, s, t), 2.5);
  };
  const inverseRoot = (low: number, high: number) =>
    low > 0 ? within(1 / Math.sqrt(high), 1 / Math.sqrt(low), 2) : unknown();
  const exponential = (low: number, high: number, power: (x: number) => number) =>
    isUnknown(low)
      ? unknown()
      : within(
          power(low),
          power(high),
          accuracy.exponential + 2 * Math.abs(low),
          accuracy.exponential + 2 * Math.abs(high),
        );
  const logarithm = (low: number, high: number, log: (x: number) => number) => {
    if (!(low > 0)) return unknown();
    const errorAt = (x: number) =>
      x >= 0.5 && x <= 2 ? Math.max(accuracy.logarithm, 3 * ulp(log(x))) : 3 * ulp(log(x));
    around(log(low) - errorAt(low), log(high) + errorAt(high));
  };
  /** Applies sine or cosine, whose extreme values lie at `peak` plus multiples of π. */
  const wave = (low: number, high: number, at: (x: number) => number, peak: number) => {
    if (!(low >= -Math.PI && high <= Math.PI)) return unknown();
    const ends = [at(low), at(high)];
    for (let x = peak - 2 * Math.PI; x <= high; x += Math.PI) if (x >= low) ends.push(Math.round(at(x)));
    around(Math.min(...ends) - accuracy.sine, Math.max(...ends) + accuracy.sine);
  };
  const increasing = (low: number, high: number, at: (x: number) => number, error: number, units: number) => {
    const [from, to] = [at(low), at(high)];
    const wider = (x: number) => Math.max(error, units * ulp(x));
    if (isUnknown(from) || isUnknown(to)) unknown();
    else around(from - wider(from), to + wider(to));
  };

  return {
    add,
    sub: (al: number, ah: number, bl: number, bh: number) => add(al, ah, -bh, -bl),
    mul: multiply,
    div: divide,
    neg: (low: number, high: number) => exactly(-high, -low),
    abs: (low: number, high: number) => {
      if (low >= 0) exactly(low, high);
      else if (high <= 0) exactly(-high, -low);
      else if (isUnknown(low)) unknown();
      else exactly(0, Math.max(-low, high));
    },
    min: (al: number, ah: number, bl: number, bh: number) => exactly(Math.min(al, bl), Math.min(ah, bh)),
    max: (al: number, ah: number, bl: number, bh: number) => exactly(Math.max(al, bl), Math.max(ah, bh)),
    sign: (low: number, high: number) => exactly(Math.sign(low), Math.sign(high)),
    floor: (low: number, high: number) => exactly(Math.floor(low), Math.floor(high)),
    ceil: (low: number, high: number) => exactly(Math.ceil(low), Math.ceil(high)),
    trunc: (low: number, high: number) => exactly(Math.trunc(low), Math.trunc(high)),
    round: (low: number, high: number) => exactly(roundToEven(low), roundToEven(high)),
    fract: (low: number, high: number) => {
      const whole = Math.floor(low);
      if (whole === Math.floor(high)) around(low - whole, high - whole);
      else if (isUnknown(whole)) unknown();
      else exactly(0, 1);
    },
    sqrt: (low: number, high: number) => {
      if (!(low >= 0)) return unknown();
      if (high === 0) return exactly(0, 0);
      // The specification derives it from `1 / inverseSqrt(x)`. The root stays in the middle, as
      // the likeliest number.
      const [least, most] = [Math.sqrt(low > 0 ? low : high), Math.sqrt(high)];
      inverseRoot(low > 0 ? low : high, high);
      divide(1, 1, r[0]!, r[1]!);
      const units = Math.ceil(Math.max((least - r[0]!) / ulp(least), (r[1]! - most) / ulp(most)));
      around(low > 0 ? least - units * ulp(least) : 0, most + units * ulp(most));
    },
    inverseSqrt: inverseRoot,
    exp: (low: number, high: number) => exponential(low, high, Math.exp),
    exp2: (low: number, high: number) => exponential(low, high, (x) => 2 ** x),
    log: (low: number, high: number) => logarithm(low, high, Math.log),
    log2: (low: number, high: number) => logarithm(low, high, Math.log2),
    sin: (low: number, high: number) => wave(low, high, Math.sin, Math.PI / 2),
    cos: (low: number, high: number) => wave(low, high, Math.cos, 0),
    atan: (low: number, high: number) => increasing(low, high, Math.atan, 0, accuracy.arc),
    asin: (low: number, high: number) =>
      low >= -1 && high <= 1 ? increasing(low, high, Math.asin, accuracy.arcSine, accuracy.arc) : unknown(),
    acos: (low: number, high: number) => {
      if (!(low >= -1 && high <= 1)) return unknown();
      increasing(-high, -low, (x) => Math.acos(-x), accuracy.arcCosine, accuracy.arc);
    },
    atan2: (yl: number, yh: number, xl: number, xh: number) => {
      // The accuracy is specified for a normal y, and an x of a magnitude from 2**-126 to 2**126.
      const isNormal = (low: number, high: number) => low >= minNormal || high <= -minNormal;
      if (!(isNormal(yl, yh) && isNormal(xl, xh)) || Math.max(-xl, xh) > 1 / minNormal) return unknown();
      const angles = [Math.atan2(yl, xl), Math.atan2(yl, xh), Math.atan2(yh, xl), Math.atan2(yh, xh)];
      within(Math.min(...angles), Math.max(...angles), accuracy.arc);
    },
    tanh: (low: number, high: number) => {
      // The accuracy may be that of `sinh(x) / cosh(x)`, in which the exponential can overflow.
      if (!(Math.exp(Math.max(-low, high)) < max / 2)) return unknown();
      increasing(low, high, Math.tanh, accuracy.hyperbolicTangent, 16);
    },
    step: (el: number, eh: number, xl: number, xh: number) => {
      if (xl >= eh) exactly(1, 1);
      else if (xh < el) exactly(0, 0);
      else if (isUnknown(el) || isUnknown(xl)) unknown();
      else exactly(0, 1);
    },
    ldexp: (low: number, high: number, exponent: number) =>
      around(scaled(low, exponent), scaled(high, exponent)),
    /** Takes a number of another format, or an integer. */
    from: (low: number, high: number) => around(low, high),
    fromInteger: (x: number) => around(x, x),
    /** Widens a number that was read from memory: a subnormal one may count as zero. */
    loaded: (x: number) => {
      if (x > 0 && x < minNormal) exactly(0, x);
      else if (x < 0 && x > -minNormal) exactly(x, 0);
      else exactly(x, x);
    },
    /** Joins two values between which an implementation may choose. */
    hull: (al: number, ah: number, bl: number, bh: number) => exactly(Math.min(al, bl), Math.max(ah, bh)),
    lt: (al: number, ah: number, bl: number, bh: number) =>
      ah < bl ? 1 : al >= bh ? 0 : Number(order(al, ah, bl, bh) < 0),
    le: (al: number, ah: number, bl: number, bh: number) =>
      ah <= bl ? 1 : al > bh ? 0 : Number(order(al, ah, bl, bh) <= 0),
    eq: (al: number, ah: number, bl: number, bh: number) => {
      if (ah < bl || al > bh) return 0;
      return al === ah && bl === bh && al === bl ? 1 : Number(order(al, ah, bl, bh) === 0);
    },
    // Implementations clamp to the largest integer, or to the largest that is a number of f32.
    toI32: (low: number, high: number) => {
      if (!(high < 2 ** 31)) undecided("an integer");
      const whole = (x: number) => Math.max(Math.trunc(x) + 0, -(2 ** 31));
      return whole(low) === whole(high) ? whole(low) : whole(standIn(low, high, "an integer"));
    },
    toU32: (low: number, high: number) => {
      if (!(high < 2 ** 32)) undecided("an integer");
      const whole = (x: number) => Math.max(Math.trunc(x), 0);
      return whole(low) === whole(high) ? whole(low) : whole(standIn(low, high, "an integer"));
    },
    toBits: (low: number, high: number) => {
      // Zeros of both signs are the same to the arithmetic.
      if (low !== high || low === 0) undecided("the bits of a number");
      return format.toBits(low);
    },
    fromBits: (pattern: number) => {
      const x = format.fromBits(pattern);
      if (x > 0 && x < minNormal) exactly(0, x);
      else if (x < 0 && x > -minNormal) exactly(x, 0);
      else exactly(x, x);
    },
  };
}

/** Returns the nearest integer, of two equally near ones the even one. */
export function roundToEven(x: number): number {
  const down = Math.floor(x);
  const rest = x - down;
  if (rest !== 0.5) return rest < 0.5 ? down : down + 1;
  return down % 2 === 0 ? down : down + 1;
}

/** Returns `x` times a power of two, in two steps, as each power has to be a double. */
export function scaled(x: number, exponent: number): number {
  const half = Math.trunc(exponent / 2);
  return x * 2 ** half * 2 ** (exponent - half);
}

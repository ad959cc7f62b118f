import { describe, expect, it } from "vitest";
import { Draws } from "../model/random.ts";
import {
  chanceOfAtLeast,
  differenceOf,
  normalQuantile,
  trialsForBound,
  trialsForMargin,
  weightedMean,
  wilson,
} from "./statistics.ts";

describe("the Wilson interval", () => {
  // Newcombe, "Two-sided confidence intervals for the single proportion", 1998, table I, method 3.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])("of %d in %d is the published one", (events, trials, low, high) => {
    const rate = wilson(events, trials, 0.95);
    expect(rate.low).toBeCloseTo(low, 4);
    expect(rate.high).toBeCloseTo(high, 4);
  });

  it("of no event in a thousand ends at 0.38 %", () => {
    expect(wilson(0, 1000, 0.95)).toMatchObject({ rate: 0, low: 0 });
    expect(wilson(0, 1000, 0.95).high).toBeCloseTo(0.003827, 6);
  });

  it("is symmetric, holds the rate, and is everything without trials", () => {
    for (const [events, trials] of [
      [0, 7],
      [3, 7],
      [7, 7],
      [1, 100_000],
    ] as const) {
      const [rate, mirrored] = [wilson(events, trials, 0.99), wilson(trials - events, trials, 0.99)];
      expect(rate.low).toBeCloseTo(1 - mirrored.high, 12);
      expect(rate.low).toBeLessThanOrEqual(rate.rate);
      expect(rate.high).toBeGreaterThanOrEqual(rate.rate);
    }
    expect(wilson(0, 0, 0.95)).toMatchObject({ low: 0, high: 1 });
  });

  it("covers the true rate about as often as it says", () => {
    // Exact: over all outcomes of 50 trials with a rate of 0.1, weighted by their probabilities.
    let [covered, probability] = [0, 0.9 ** 50];
    for (let events = 0; events <= 50; events++) {
      const { low, high } = wilson(events, 50, 0.95);
      if (low <= 0.1 && 0.1 <= high) covered += probability;
      probability *= ((50 - events) / (events + 1)) * (0.1 / 0.9);
    }
    expect(covered).toBeCloseTo(0.97, 2);
  });
});

describe("the number of trials", () => {
  it.each([
    [0, 0.01, 189],
    [0.5, 0.01, 9600],
    [0.3, 0.02, 2013],
  ])("for a rate of %d and a margin of %d is %d, and no fewer", (rate, margin, trials) => {
    const found = trialsForMargin(rate, margin, 0.95);
    const width = (count: number) => {
      const { low, high } = wilson(rate * count, count, 0.95);
      return (high - low) / 2;
    };
    expect(Math.abs(found - trials)).toBeLessThanOrEqual(5);
    expect(width(found)).toBeLessThanOrEqual(margin);
    expect(width(found - 1)).toBeGreaterThan(margin);
  });

  it("that shows 0.13 % when nothing happens is 2952", () => {
    const trials = trialsForBound(0, 0.0013, 0.95);
    expect(trials).toBe(2952);
    expect(wilson(0, trials, 0.95).high).toBeLessThanOrEqual(0.0013);
    expect(wilson(0, trials - 1, 0.95).high).toBeGreaterThan(0.0013);
  });

  it("has no end when events are as frequent as the bound", () => {
    expect(trialsForBound(0.0013, 0.0013, 0.95)).toBe(Number.POSITIVE_INFINITY);
  });
});

// Newcombe 1998, table II, method 10, as rate of the first less rate of the second.
it.each([
  [[56, 70], [48, 80], 0.2, 0.0524, 0.3339],
  [[9, 10], [3, 10], 0.6, 0.1705, 0.809],
  [[10, 10], [0, 20], 1, 0.6791, 1],
] as const)(
  "the difference of %j and %j has the published interval",
  ([a, m], [b, n], difference, low, high) => {
    const found = differenceOf(wilson(b, n, 0.95), wilson(a, m, 0.95));
    expect(found.difference).toBeCloseTo(difference, 10);
    expect(found.low).toBeCloseTo(low, 4);
    expect(found.high).toBeCloseTo(high, 4);
  },
);

it("the chance of rare events is Poisson's", () => {
  expect(chanceOfAtLeast(0, 3)).toBe(1);
  expect(chanceOfAtLeast(1, 0.14)).toBeCloseTo(1 - Math.exp(-0.14), 12);
  expect(chanceOfAtLeast(3, 2)).toBeCloseTo(1 - 5 * Math.exp(-2), 12);
  expect(chanceOfAtLeast(30, 2)).toBeLessThan(1e-12);
});

it("quantiles of the normal distribution are the tabulated ones", () => {
  expect(normalQuantile(0.5)).toBe(0);
  expect(normalQuantile(0.975)).toBeCloseTo(1.959963985, 8);
  expect(normalQuantile(0.995)).toBeCloseTo(2.575829304, 8);
  expect(normalQuantile(0.01)).toBeCloseTo(-2.326347874, 8);
});

describe("the mean of rates with weights", () => {
  const of = (...parts: readonly (readonly [weight: number, events: number, trials: number])[]) =>
    weightedMean(parts.map(([weight, events, trials]) => ({ weight, rate: wilson(events, trials, 0.95) })));

  it("of one rate is the rate with its interval", () => {
    const { rate, low, high } = wilson(3, 70, 0.95);
    const mean = of([5, 3, 70]);
    expect(mean.rate).toBe(rate);
    expect(mean.low).toBeCloseTo(low, 12);
    expect(mean.high).toBeCloseTo(high, 12);
  });

  it("has the interval that a calculation by hand gives", () => {
    // Wilson's limits: 0.04348 to 0.21360, 0 to 0.16113, 0.24591 to 0.57680.
    const { rate, low, high, trials } = of([3, 5, 50], [1, 0, 20], [6, 12, 30]);
    expect(trials).toBe(100);
    expect(rate).toBeCloseTo(0.27, 12);
    expect(low).toBeCloseTo(0.176002, 6);
    expect(high).toBeCloseTo(0.382577, 6);
  });

  it("of a rate and the complement of another has Newcombe's interval", () => {
    const { rate, low, high } = of([1, 48, 80], [1, 70 - 56, 70]);
    const difference = differenceOf(wilson(56, 70, 0.95), wilson(48, 80, 0.95));
    expect(2 * rate - 1).toBeCloseTo(difference.difference, 12);
    expect(2 * low - 1).toBeCloseTo(difference.low, 12);
    expect(2 * high - 1).toBeCloseTo(difference.high, 12);
  });

  it.each([
    [
      [
        [50, 0.3, 60],
        [20, 0.02, 200],
        [30, 0.1, 80],
      ],
    ],
    [
      [
        [90, 0.001, 1000],
        [10, 0.5, 40],
      ],
    ],
  ] as const)("holds the true mean of drawn events about as often as it says: %j", (groups) => {
    const all = groups.reduce((sum, [weight]) => sum + weight, 0);
    const truth = groups.reduce((sum, [weight, rate]) => sum + (weight / all) * rate, 0);
    const draws = new Draws("weighted mean");
    let held = 0;
    for (let i = 0; i < 700; i++) {
      const parts = groups.map(([weight, rate, trials]) => {
        let events = 0;
        for (let trial = 0; trial < trials; trial++) if (draws.below(1_000_000) < 1e6 * rate) events++;
        return [weight, events, trials] as const;
      });
      const { low, high } = of(...parts);
      if (low <= truth && truth <= high) held++;
    }
    expect(held / 700).toBeGreaterThan(0.93);
    expect(held / 700).toBeLessThan(0.985);
  });
});

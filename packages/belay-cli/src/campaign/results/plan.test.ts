import { describe, expect, it } from "vitest";
import { campaignConfigurations } from "../model/configurations.ts";
import type { Outcome } from "../model/outcome.ts";
import { claims, isInside, numbersBelow, progressOf } from "./plan.ts";

const goal = { margin: 0.02, bound: 0.02, minimum: 1, confidence: 0.95 };
const whole = { index: 0, count: 1 };

/** Runs a cell to its end; every `nth` injection is silent. */
function run(nth: number, inside: boolean, { strata = 2, shard = whole, changed = {} } = {}) {
  const results: { number: number; outcome: Outcome }[] = [];
  const cell = { strata, inside, goal: { ...goal, ...changed }, shard };
  const quotas: number[] = [];
  for (;;) {
    const { quota, state } = progressOf(results, cell);
    if (state !== "open") return { quota, state, quotas, results, cell };
    quotas.push(quota);
    const known = new Set(results.map(({ number }) => number));
    for (let number = shard.index; number < quota; number += shard.count) {
      if (known.has(number)) continue;
      for (let stratum = 0; stratum < strata; stratum++) {
        results.push({ number, outcome: (number * strata + stratum) % nth === nth - 1 ? "sdc" : "masked" });
      }
    }
  }
}

describe("a cell", () => {
  it("inside the sphere ends when nothing is silent in as many injections as show the bound", () => {
    // z² (1 - b) / b = 188.2 for 2 %.
    expect(run(1e9, true)).toMatchObject({ state: "reached", quotas: [95] });
  });

  it("inside ends at once when too much is silent, and goes on when that is not sure", () => {
    expect(run(5, true)).toMatchObject({ state: "violated", quotas: [95] });
    const unsure = run(120, true);
    expect(unsure.state).toBe("reached");
    expect(unsure.quotas.length).toBeGreaterThan(1);
    expect(run(45, true).state).toBe("exhausted");
  });

  it("outside ends when its interval is narrow", () => {
    const { state, quotas, results } = run(3, false);
    expect(state).toBe("reached");
    // 1.96² · ⅓ · ⅔ / 0.02² = 2134.
    expect(results.length).toBeGreaterThanOrEqual(2130);
    expect(results.length).toBeLessThan(2300);
    expect(quotas.length).toBeLessThanOrEqual(4);
  });

  it("has at least as many injections as asked for", () => {
    expect(run(1e9, false, { changed: { minimum: 1001 } }).results.length).toBe(1002);
  });

  it("goes the same way whatever the order of its results, and however far the last round has come", () => {
    const { results, cell, quotas } = run(3, false);
    for (const quota of quotas) {
      const sofar = results.filter(({ number }) => number < quota - 1).reverse();
      expect(progressOf(sofar, cell)).toEqual({ quota, state: "open" });
    }
    // Injections beyond a round, from another process that was killed later, decide nothing.
    const beyond = results.filter(({ number }) => number < quotas[0]! - 1 || number > quotas[0]! + 5);
    expect(progressOf(beyond, cell)).toEqual({ quota: quotas[0], state: "open" });
  });

  it("that nothing strikes does not go on forever", () => {
    const results = Array.from({ length: 95 }, (_, number) => ({ number, outcome: "notInjected" as const }));
    expect(
      progressOf(results, { strata: 1, inside: true, goal: { ...goal, bound: 0.04 }, shard: whole }),
    ).toMatchObject({ state: "exhausted" });
  });

  it("of which a shard has no number ends there", () => {
    const cell = { strata: 1, inside: true, goal, shard: { index: 500, count: 1000 } };
    expect(progressOf([], cell)).toMatchObject({ state: "exhausted" });
  });

  it.each([
    { bound: 1e-9, minimum: 1 },
    { bound: 1e-300, minimum: 1 },
    { minimum: 1e15 },
    { margin: 1e-12 },
    { confidence: 1 - 2 ** -53 },
  ])("wants as many as can be counted with %j", (changed) => {
    for (const inside of [true, false]) {
      const { quota, state } = progressOf([], {
        strata: 3,
        inside,
        goal: { ...goal, ...changed },
        shard: whole,
      });
      expect(state).toBe("open");
      expect(Number.isSafeInteger(quota)).toBe(true);
    }
  });

  it("is shared by shards", () => {
    const parts = [0, 1, 2].map((index) => run(1e9, true, { shard: { index, count: 3 } }).results);
    const numbers = parts.flat().map(({ number }) => number);
    expect(numbers.length).toBe(190);
    expect([...new Set(numbers)].sort((a, b) => a - b)).toEqual(Array.from({ length: 95 }, (_, i) => i));
    expect([0, 1, 2].map((index) => numbersBelow(95, { index, count: 3 }))).toEqual([32, 32, 31]);
  });
});

it("the sphere of replication is the published one", () => {
  const configurations = campaignConfigurations({
    flavors: ["intra+lds", "intra-lds", "inter"],
    checks: ["signature"],
    pairing: "adjacent",
  });
  const structures = ["ALU", "VRF", "LDS", "SU", "SRF", "ID", "IF/SCHED", "L1", "memory"] as const;
  const table = configurations.map((configuration) =>
    structures.map((structure) => (isInside(configuration, structure) ? "x" : ".")).join(""),
  );
  expect(table).toEqual([".........", "xxx......", "xx.......", "xxxxxxx.."]);
});

it("lanes that stay broken are claimed where they strike one replica only", () => {
  const claimed = (
    pairing: "adjacent" | "subgroups" | "passes",
    model: "stuck-lane" | "single-bit",
    flavor: "intra+lds" | "inter" = "intra+lds",
  ) => {
    const [, configuration] = campaignConfigurations({
      flavors: [flavor],
      checks: ["signature"],
      pairing,
    });
    return claims(configuration!, { structure: "ALU", model });
  };
  expect(claimed("adjacent", "stuck-lane")).toBe(true);
  expect(claimed("passes", "single-bit")).toBe(true);
  expect(claimed("passes", "stuck-lane")).toBe(false);
  expect(claimed("subgroups", "single-bit")).toBe(true);
  expect(claimed("subgroups", "stuck-lane")).toBe(false);
  expect(claimed("adjacent", "single-bit", "inter")).toBe(true);
  expect(claimed("adjacent", "stuck-lane", "inter")).toBe(false);
});

import { describe, expect, it } from "vitest";
import type { Activation } from "./activations.ts";
import { defaultLeastMultiplications } from "./algebra.ts";
import type { Operand } from "./operand.ts";
import type { Dimension, SumsOfProducts } from "./sums.ts";
import { type CheckCircumstances, reasonAgainstCheck } from "./worth.ts";

const operand = (binding: number): Operand => ({
  of: { group: 0, binding },
  name: "",
  format: "f32",
  plus: 0,
});
const still: Omit<Dimension, "size"> = { left: 0, right: 0, added: 0, scale: 0 };

/** Returns the product of two matrices that lie by rows. */
function product(rows: number, columns: number, terms: number): SumsOfProducts {
  return {
    output: operand(2),
    first: 0,
    count: rows * columns,
    left: operand(0),
    right: operand(1),
    start: still,
    results: [
      { ...still, size: columns, right: 1 },
      { ...still, size: rows, left: terms },
    ],
    terms: [{ ...still, size: terms, left: 1, right: columns }],
    windows: [],
    coefficient: 1,
    addedScale: 1,
    roundings: terms,
    scaling: 1,
    precision: "f32",
  };
}

const relu: Activation = {
  values: [],
  text: "return max(x, 0.0);",
  format: "f32",
  others: [],
  addresses: { start: [], digits: [] },
};
const circumstances: CheckCircumstances = {
  costOfRedundancy: 1.92,
  leastMultiplications: defaultLeastMultiplications,
  defers: true,
};

describe("a check", () => {
  // On an H200, a program waits less for a checked product than for one under redundancy here.
  it.each([
    ["of a product of 1024", { sums: product(1024, 1024, 1024) }],
    ["of a product of 1024 with relu", { sums: product(1024, 1024, 1024), activation: relu }],
  ])("%s pays", (_, found) => {
    expect(reasonAgainstCheck(found, circumstances)).toBeUndefined();
    expect(reasonAgainstCheck(found, { ...circumstances, leastMultiplications: 2 ** 40 })).toMatch(
      /pays from/,
    );
  });

  it.each([
    [
      "of a product of 512",
      product(512, 512, 512),
      /^it has 134217728 multiplications, and a check pays from/,
    ],
    ["of a convolution of 64 channels", product(64 * 64, 64, 9 * 64), /^it has 150994944 multiplications/],
    ["of one row times a matrix", product(1, 1024, 1024), /^redundancy is predicted to cost less$/],
    ["of a matrix times one column", product(1024, 1, 1024), /^redundancy is predicted to cost less$/],
  ])("%s does not pay unless the least number is 0", (_, sums, reason) => {
    for (const found of [{ sums }, { sums, activation: relu }]) {
      expect(reasonAgainstCheck(found, circumstances)).toMatch(reason);
      const free = { ...circumstances, leastMultiplications: 0 };
      expect(reasonAgainstCheck(found, free)).toBeUndefined();
    }
  });

  it("has to save twice as much where the device decides, and says so", () => {
    const found = { sums: product(1024, 1024, 1024) };
    const leastIn = (defers: boolean, reason: RegExp) => {
      const given = { ...circumstances, leastMultiplications: 2 ** 40, defers };
      return Number(reason.exec(reasonAgainstCheck(found, given)!)![1]);
    };
    const byDevice = leastIn(false, /pays from (\d+) on, twice as many as where the host decides$/);
    expect(byDevice / leastIn(true, /pays from (\d+) on$/)).toBeCloseTo(2, 6);
  });

  it("does not pay where redundancy is predicted to cost next to nothing", () => {
    const found = { sums: product(4096, 4096, 4096) };
    expect(reasonAgainstCheck(found, { ...circumstances, costOfRedundancy: 1.02 })).toBe(
      "redundancy is predicted to cost less",
    );
  });
});

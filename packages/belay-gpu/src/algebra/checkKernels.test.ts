import { describe, expect, it } from "vitest";
import { checkKernels, workOfCheck } from "./checkKernels.ts";
import type { Operand } from "./operand.ts";
import type { Dimension, SumsOfProducts } from "./sums.ts";

const operand = (binding: number, name: string): Operand => ({
  of: { group: 0, binding },
  name,
  format: "f32",
  plus: 0,
});

const still: Omit<Dimension, "size"> = { left: 0, right: 0, added: 0, scale: 0 };

/** Steps in a matrix from row to row and from column to column. */
type Steps = readonly [rows: number, columns: number];

/** Returns a product of square matrices, in the memory order of two factors and the result. */
function product(n: number, a: Steps, b: Steps, isByRows = true): SumsOfProducts {
  const columns = { ...still, size: n, right: b[1] };
  const rows = { ...still, size: n, left: a[0] };
  return {
    output: operand(2, "c"),
    first: 0,
    count: n * n,
    left: operand(0, "a"),
    right: operand(1, "b"),
    start: still,
    results: isByRows ? [columns, rows] : [rows, columns],
    terms: [{ ...still, size: n, left: a[1], right: b[0] }],
    windows: [],
    coefficient: 1,
    addedScale: 1,
    roundings: n,
    scaling: 1,
    precision: "f32",
  };
}

describe("the kernels of a check", () => {
  const n = 1024;
  const [byRows, byColumns]: readonly Steps[] = [
    [n, 1],
    [1, n],
  ];

  it.each([
    ["both factors lie by rows", byRows!, byRows!, false],
    ["the first factor is transposed", byColumns!, byRows!, false],
    ["the second factor is transposed", byRows!, byColumns!, false],
    ["both factors are transposed", byColumns!, byColumns!, true],
  ])("load neighboring numbers where %s", (_, a, b, isMirrored) => {
    const sums = product(n, a, b);
    expect(checkKernels(sums, 4 * n * n).isMirrored).toBe(isMirrored);
    // The transposed product has the same check, with the factors exchanged.
    const [ofB, ofA] = [b, a].map(([rows, columns]): Steps => [columns, rows]);
    expect(checkKernels(product(n, ofB!, ofA!, false), 4 * n * n).isMirrored).toBe(!isMirrored);
  });

  it("have a thirty-second of the multiplications of a large product", () => {
    expect(workOfCheck(product(n, byRows!, byRows!))).toBeCloseTo(2 / 64 + 2 / n, 6);
  });
});

import { expect, it } from "vitest";
import { compareOutput } from "./runWorkload.ts";

const compared = (expected: ArrayBufferView, actual: ArrayBufferView | undefined, tolerance = 1e-3) =>
  compareOutput("x", expected, actual, tolerance);

it("takes floats for the same within a tolerance of the largest magnitude", () => {
  const close = compared(Float32Array.of(0, -1000, 5), Float32Array.of(0.5, -1000, 5));
  expect(close).toEqual({ bytes: 12, different: 1, largest: 0.5 / 1000 });
  const far = compared(Float32Array.of(0, -1000, 5), Float32Array.of(0, -1000, 7));
  expect(far).toMatchObject({ largest: 2 / 1000, difference: "x[2] is 7 instead of 5" });
});

it("takes a NaN and an infinity for the same as themselves only", () => {
  const infinite = Float32Array.of(Number.NaN, Number.POSITIVE_INFINITY, 1);
  expect(compared(infinite, infinite.slice())).toEqual({ bytes: 12, different: 0, largest: 0 });
  const nan = compared(infinite, Float32Array.of(Number.NaN, Number.NaN, 1));
  expect(nan.difference).toBe("x[1] is NaN instead of Infinity");
  expect(compared(infinite, Float32Array.of(1, Number.POSITIVE_INFINITY, 1)).difference).toBeDefined();
});

it("takes no other integer for the same, and no other type or length", () => {
  const words = Uint32Array.of(1000, 1000);
  expect(compared(words, Uint32Array.of(1000, 1000))).toEqual({ bytes: 8, different: 0 });
  expect(compared(words, Uint32Array.of(1000, 1001)).difference).toBe("x[1] is 1001 instead of 1000");
  expect(compared(Float32Array.of(1, 2), Uint32Array.of(1, 2)).difference).toBeDefined();
  expect(compared(Float32Array.of(1, 2), Float32Array.of(1)).difference).toBe(
    "x[1] is undefined instead of 2",
  );
  expect(compared(words, undefined).difference).toBe("x[0] is undefined instead of 1000");
});

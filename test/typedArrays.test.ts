/** Comparisons of typed arrays, which a setup file makes cheap, are as strict as before. */
import { expect, it } from "vitest";

const given = () => Float32Array.of(0, -0, Number.NaN, 3);

it("finds arrays of equal elements equal", () => {
  expect(given()).toEqual(given());
  expect({ list: [given()] }).toStrictEqual({ list: [given()] });
  expect(new Float32Array()).toEqual(new Float32Array());
});

it.each<[what: string, other: unknown]>([
  ["the sign of a zero", Float32Array.of(0, 0, Number.NaN, 3)],
  ["an element", Float32Array.of(0, -0, 1, 3)],
  ["a length", Float32Array.of(0, -0, Number.NaN)],
  ["a property", Object.assign(given(), { more: 1 })],
  ["a type", Float64Array.of(0, -0, Number.NaN, 3)],
])("notices %s", (_, other) => {
  expect(given()).not.toStrictEqual(other);
  expect(other).not.toStrictEqual(given());
  expect(() => expect({ array: given() }).toStrictEqual({ array: other })).toThrow("equal");
});

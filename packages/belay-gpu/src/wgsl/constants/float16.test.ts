import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { halfFromBits, halfToBits, roundToHalf } from "./float16.ts";
import { exponentOf, scale } from "./float64.ts";

describe("binary16", () => {
  const patterns = Array.from({ length: 0x10000 }, (_, bits) => bits);

  it("converts all 65,536 patterns except NaNs to numbers and back without a change", () => {
    const changed = patterns.filter((bits) => {
      const value = halfFromBits(bits);
      return !Number.isNaN(value) && (halfToBits(value) !== bits || !Object.is(roundToHalf(value), value));
    });
    expect(changed).toEqual([]);
  });

  it("rounds to the nearest value, and ties to even", () => {
    const wrong = patterns.slice(0, 0x7bff).filter((bits) => {
      const [low, high] = [halfFromBits(bits), halfFromBits(bits + 1)];
      const middle = (low + high) / 2;
      const even = bits % 2 === 0 ? low : high;
      return (
        roundToHalf(middle) !== even ||
        roundToHalf(-middle) !== -even ||
        roundToHalf(middle - middle * 2 ** -52) !== low ||
        roundToHalf(middle + middle * 2 ** -52) !== high
      );
    });
    expect(wrong).toEqual([]);
  });

  it("overflows to infinity halfway between its largest value and the next power of two", () => {
    expect(roundToHalf(65519.999)).toBe(65504);
    expect(roundToHalf(65520)).toBe(Infinity);
    expect(roundToHalf(-1e300)).toBe(-Infinity);
  });

  it("keeps infinities, NaN and the sign of zero", () => {
    expect(roundToHalf(Number.NaN)).toBeNaN();
    expect(roundToHalf(-Infinity)).toBe(-Infinity);
    expect(roundToHalf(-0)).toBe(-0);
    expect(roundToHalf(-1e-9)).toBe(-0);
    expect(halfFromBits(0x7e00)).toBeNaN();
    expect(halfToBits(Number.NaN)).toBe(0x7e00);
  });
});

describe("the exponent of a double", () => {
  const finite = fc.double({ noNaN: true, noDefaultInfinity: true }).filter((x) => x !== 0);

  it("brackets its magnitude between two powers of two", () => {
    fc.assert(
      fc.property(finite, (x) => {
        const exponent = exponentOf(x);
        expect(scale(Math.abs(x), -exponent)).toBeGreaterThanOrEqual(1);
        expect(scale(Math.abs(x), -exponent)).toBeLessThan(2);
      }),
    );
  });

  it("scales by a power of two and back without a change", () => {
    fc.assert(
      fc.property(finite, (x) => {
        expect(scale(scale(x, -exponentOf(x)), exponentOf(x))).toBe(x);
      }),
    );
  });

  it("scales into the subnormal range with one rounding", () => {
    expect(scale(1.5, -1075)).toBe(2 ** -1074);
    expect(scale(1, -1075)).toBe(0);
    // A first rounding would round the last place up to a tie, and a second one the tie to the even
    // neighbor.
    expect(scale(1.25 - 2 ** -52, -1073)).toBe(2 ** -1073);
    expect(scale(1.25, -1073)).toBe(2 ** -1073);
    expect(scale(1.25 + 2 ** -52, -1073)).toBe(3 * 2 ** -1074);
    expect(scale(3, 1023)).toBe(Infinity);
    expect(scale(1, -1e9)).toBe(0);
  });
});

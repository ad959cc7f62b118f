import { expect, test } from "vitest";
import { randomNumbers, randomStrikes } from "./randomStrikes.ts";

test.each([1, 2])("%d bits are struck in one code word each of different granules", (bits) => {
  const [granules, wordsOfGranule, wordsOfCode, count] = [40, 4, 2, 10];
  const strikes = randomStrikes({ granules, wordsOfGranule, wordsOfCode, count, bits }, randomNumbers(1));
  const struck = new Map<number, Set<string>>();
  for (let i = 0; i < strikes.length; i += 2) {
    const [word, mask] = [strikes[i]!, strikes[i + 1]!];
    expect(Math.log2(mask) % 1).toBe(0);
    const code = Math.floor(word / wordsOfCode);
    struck.set(code, (struck.get(code) ?? new Set()).add(`${word} ${mask}`));
  }
  expect([...struck.values()].map((flips) => flips.size)).toEqual(Array(count).fill(bits));
  const codesOfGranule = wordsOfGranule / wordsOfCode;
  const places = [...struck.keys()].map((code) => Math.floor(code / codesOfGranule));
  expect(new Set(places).size).toBe(count);
  expect(Math.max(...places)).toBeLessThan(granules);
});

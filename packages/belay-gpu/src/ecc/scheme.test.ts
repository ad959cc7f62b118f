import { tablePasses } from "belay-research/internal/ecc/byteTables";
import { hsiao } from "belay-research/internal/ecc/hsiao";
import { comparedSchemes } from "belay-research/internal/ecc/index";
import { describe, expect, it } from "vitest";
import {
  arbitraryWords,
  bitsOf,
  checksOf,
  wordsOf,
  wrongGranules,
} from "../../../../test/support/devices/wrongGranules.ts";
import { type MemoryScheme, memoryScheme } from "./scheme.ts";

/** The data words of one code word, for schemes whose granules hold several code words. */
const packedWords: Partial<Record<string, number>> = { packed32: 1, packed64: 2, packed64x4: 2 };
/** The check bits of each of these code words. */
const packedBits: Partial<Record<string, number>> = { packed32: 7, packed64: 8, packed64x4: 8 };

/**
 * Returns the index of the code word that a bit of a granule belongs to. The bits of the check word
 * follow the bits of the data.
 */
function codeWordOf({ name, granuleBytes }: MemoryScheme, bit: number): number {
  const words = packedWords[name];
  if (words === undefined) return 0;
  const inChecks = bit - 8 * granuleBytes;
  return Math.floor(inChecks < 0 ? bit / (32 * words) : inChecks / packedBits[name]!);
}

/** Verifies a granule for each set of wrong bits, and returns the outcomes. */
function outcomes(scheme: MemoryScheme, content: Uint32Array, errors: readonly (readonly number[])[]) {
  const words = wordsOf(scheme);
  const [check] = checksOf(scheme, content);
  const { data, checks } = wrongGranules(scheme, content, errors);
  const { corrected, uncorrectable } = scheme.verify(data, checks);
  const flagged = new Set(uncorrectable);
  const restored = errors.map(
    (_, granule) =>
      checks[granule] === check && content.every((word, i) => data[granule * words + i] === word),
  );
  return { corrected, flagged, restored };
}

/**
 * Returns the numbers of single and double errors that are handled wrongly. Single errors, and two
 * errors in two code words, must be corrected. Two errors in one code word must be flagged.
 */
function failures(scheme: MemoryScheme, content: Uint32Array) {
  const bits = bitsOf(scheme);
  const all = Array.from({ length: bits }, (_, bit) => bit);
  const single = outcomes(
    scheme,
    content,
    all.map((bit) => [bit]),
  );
  let doubles = 0;
  for (const one of all) {
    const pairs = all.slice(one + 1).map((other) => [one, other]);
    const { flagged, restored } = outcomes(scheme, content, pairs);
    doubles += pairs.filter(([, other], granule) => {
      const together = codeWordOf(scheme, one) === codeWordOf(scheme, other!);
      const unused = packedBits[scheme.name] !== undefined && one >= bits - 32 + scheme.checkBits;
      return together && !unused ? !flagged.has(granule) : !restored[granule];
    }).length;
  }
  const singles = single.restored.filter((ok) => !ok).length + Math.abs(single.corrected - bits);
  return { singles, doubles };
}

const all = Object.values(comparedSchemes);

describe.each(all)("$name", (scheme) => {
  const words = wordsOf(scheme);

  it("has zero checks for zero data, and finds nothing wrong where nothing is", () => {
    expect(checksOf(scheme, new Uint32Array(3 * words))).toEqual(new Uint32Array(3));
    const data = arbitraryWords(100 * words);
    const checks = checksOf(scheme, data);
    const [sameData, sameChecks] = [data.slice(), checks.slice()];
    expect(scheme.verify(data, checks)).toEqual({ corrected: 0, uncorrectable: [] });
    expect([data, checks]).toEqual([sameData, sameChecks]);
    expect(checks.every((check) => scheme.checkBits === 32 || check < 2 ** scheme.checkBits)).toBe(true);
  });

  it("is linear", () => {
    const [a, b] = [arbitraryWords(50 * words), arbitraryWords(50 * words, 77)];
    const sum = checksOf(
      scheme,
      a.map((word, i) => word ^ b[i]!),
    );
    const [checksOfA, checksOfB] = [checksOf(scheme, a), checksOf(scheme, b)];
    expect(sum).toEqual(checksOfA.map((check, i) => check ^ checksOfB[i]!));
  });

  it("refuses data that does not fit the check words", () => {
    expect(() => scheme.encode(new Uint32Array(2 * words), new Uint32Array(1))).toThrow(RangeError);
    expect(() => scheme.verify(new Uint32Array(words), new Uint32Array(0))).toThrow(RangeError);
  });
});

describe.each(all.filter(({ corrects }) => corrects))("$name", (scheme) => {
  it("corrects every single error and flags every double error", () => {
    const contents = [new Uint32Array(wordsOf(scheme)), arbitraryWords(wordsOf(scheme))];
    // The errors of linear codes do not depend on the data. One content is enough for the largest
    // granule.
    for (const content of wordsOf(scheme) > 8 ? contents.slice(0, 1) : contents)
      expect(failures(scheme, content)).toEqual({ singles: 0, doubles: 0 });
  });
});

describe.each(all.filter(({ corrects }) => !corrects))("$name", (scheme) => {
  it("flags every single and every double error, and changes nothing", () => {
    const content = arbitraryWords(wordsOf(scheme));
    const bits = bitsOf(scheme);
    let missed = 0;
    for (let one = 0; one < bits; one++) {
      const errors = [[one], ...Array.from({ length: one }, (_, other) => [one, other])];
      const { flagged, restored, corrected } = outcomes(scheme, content, errors);
      missed += errors.length - flagged.size + corrected + restored.filter(Boolean).length;
    }
    expect(missed).toBe(0);
  });
});

describe("a code with a wrong column", () => {
  const whole = hsiao(1);
  const failuresWith = (column: number) => {
    const broken = { ...whole, columns: whole.columns.with(3, column) };
    return failures(memoryScheme("hsiao32", { ...broken, host: tablePasses(broken) }), arbitraryWords(1));
  };

  it("is noticed, whatever is wrong with it", () => {
    expect(failuresWith(whole.columns[3]!)).toEqual({ singles: 0, doubles: 0 });
    expect(failuresWith(whole.columns[4]!).singles).toBeGreaterThan(0);
    expect(failuresWith(0).singles).toBeGreaterThan(0);
    expect(failuresWith(0b0000011).doubles).toBeGreaterThan(0);
  });
});

import { hsiao } from "belay-research/internal/ecc/hsiao";
import { nibbleTables } from "belay-research/internal/ecc/nibbleTables";
import { packed } from "belay-research/internal/ecc/packed";
import { separable } from "belay-research/internal/ecc/separable";
import { afterEach, describe, expect, it, vi } from "vitest";
import { arbitraryWords } from "../../../../../test/support/devices/wrongGranules.ts";
import { checkWord, type HostPasses, type LinearCode } from "../linearCode.ts";
import { quasiCyclic } from "../quasiCyclic.ts";
import { vectorPasses } from "./blocks.ts";

const codes: Record<string, () => LinearCode> = {
  "one word by rotations": () => quasiCyclic(1),
  "two words by rotations": () => quasiCyclic(2),
  "four words by rotations": () => quasiCyclic(4),
  "32 words by rotations": () => quasiCyclic(32),
  "one word by tables": () => hsiao(1),
  "two words by tables": () => hsiao(2),
  "four words by tables, two bytes of checks": () => separable(),
  "eight words by tables": () => packed(hsiao(2), 4),
};

/** Returns every check word, computed from the columns alone. */
function expected(code: LinearCode, data: Uint32Array): Uint32Array {
  const checks = new Uint32Array(data.length / code.words);
  return checks.map((_, granule) => checkWord(code, data, granule));
}

afterEach(() => vi.unstubAllGlobals());

describe.each(Object.entries(codes))("%s", (_, create) => {
  // A whole block of 32 KiB, and part of one that ends within what is taken at once.
  const sizeOf = (words: number) => 2 ** 13 / words + 71;

  it("gives the check words of the columns", () => {
    const code = create();
    const data = arbitraryWords(code.words * sizeOf(code.words));
    const checks = new Uint32Array(sizeOf(code.words));
    code.host.encode(data, checks);
    expect(checks).toEqual(expected(code, data));
  });

  it("finds the first wrong granule, wherever it is, and no other", () => {
    const { words, host, ...code } = create();
    const size = sizeOf(words);
    const data = arbitraryWords(words * size);
    const checks = expected({ words, host, ...code }, data);
    expect(host.mismatch(data, checks, 0, size)).toBe(size);
    for (const wrong of [0, 63, 64, 65, 82, 2 ** 13 / words + 63, 2 ** 13 / words + 64, size - 1]) {
      checks[wrong]! ^= 1;
      expect(host.mismatch(data, checks, 0, size), `${wrong}`).toBe(wrong);
      expect(host.mismatch(data, checks, wrong + 1, size)).toBe(size);
      expect(host.mismatch(data, checks, 0, wrong)).toBe(wrong);
      checks[wrong]! ^= 1;
    }
  });

  it("gives the same without vectors", () => {
    vi.stubGlobal("WebAssembly", undefined);
    const code = create();
    const data = arbitraryWords(code.words * 100);
    const checks = new Uint32Array(100);
    code.host.encode(data, checks);
    expect(checks).toEqual(expected(code, data));
    checks[90]! ^= 4;
    expect(code.host.mismatch(data, checks, 0, 100)).toBe(90);
  });
});

it("passes over what stands behind the data from another block", () => {
  const { words, host } = quasiCyclic(1);
  const [long, short] = [arbitraryWords(500), arbitraryWords(101, 3)];
  const checks = new Uint32Array(500);
  host.encode(long, checks);
  const ofShort = checks.slice(0, 101 / words);
  host.encode(short, ofShort);
  expect(host.mismatch(long, checks, 0, 500)).toBe(500);
  expect(host.mismatch(short, ofShort, 0, 101)).toBe(101);
});

it("leaves long runs to vectors", () => {
  const code = hsiao(2);
  const never: HostPasses = {
    encode: () => expect.fail("scalar"),
    mismatch: (_, __, from, end) => (end - from > 64 ? expect.fail("scalar") : end),
  };
  const passes = vectorPasses(code, nibbleTables(code), never);
  const data = arbitraryWords(2 * 96);
  const checks = new Uint32Array(96);
  passes.encode(data, checks);
  expect(checks).toEqual(expected(code, data));
  expect(passes.mismatch(data, checks, 0, 96)).toBe(96);
});

import { describe, expect, it } from "vitest";
import { checksumOf, placesOf } from "./checksum.ts";

const words = Uint32Array.from({ length: 4096 + 3 }, (_, i) => Math.imul(i + 1, 0x9e3779b9) ^ (i << 7));
const right = checksumOf(words);

/** Returns true if the changes alter a sum. Computes the sums from the changed words alone. */
function changed(changes: readonly (readonly [at: number, mask: number])[], of = words): boolean {
  const [before, after] = [new Uint32Array(of.length), new Uint32Array(of.length)];
  for (const [at, mask] of changes) {
    before[at] = after[at] || of[at]!;
    after[at] = (after[at] || of[at]!) ^ mask;
  }
  const [a, b] = [checksumOf(before), checksumOf(after)];
  return a[0] !== b[0] || a[1] !== b[1];
}

const bit = (b: number) => (1 << b) >>> 0;
const small = words.slice(0, 64);

describe("checksumOf", () => {
  it("sees every change of one bit, and counts zeros as nothing", () => {
    for (let at = 0; at < small.length; at++)
      for (let b = 0; b < 32; b++) expect(changed([[at, bit(b)]], small)).toBe(true);
    expect(checksumOf(new Uint32Array(100))).toEqual([0, 0]);
    expect(checksumOf(Uint32Array.of(...small, 0, 0))).toEqual(checksumOf(small));
  });

  it("sees every two bits of a quad, and of quads that follow one another", () => {
    const few = words.slice(4, 12);
    let silent = 0;
    for (let a = 0; a < 256; a++)
      for (let b = a + 1; b < 256; b++) {
        const [first, second] = [a, b].map((each) => [each >>> 5, bit(each & 31)] as const);
        const both: (readonly [number, number])[] =
          first![0] === second![0] ? [[first![0], first![1] ^ second![1]]] : [first!, second!];
        if (!changed(both, few)) silent++;
      }
    expect(silent).toBe(0);
  });

  it("sees the same bit in any two words, the one that counts least included", () => {
    const zeros = new Uint32Array(512);
    const half = zeros.map((_, i) => (i % 3 === 0 ? 0x80008000 : 0));
    for (const of of [zeros, half])
      for (let a = 0; a < 512; a++)
        for (const b of [1, 2, 4, 64, 128, 256].map((far) => a + far).filter((at) => at < 512))
          for (const mask of [1, 0x8000, 0x10000, 0x80000000]) {
            const isSeen = changed(
              [
                [a, mask],
                [b, mask],
              ],
              of,
            );
            if (!isSeen) expect.fail(`words ${a} and ${b}, mask ${mask}`);
          }
  });

  it("sees words that change places, which it would not without their indices", () => {
    for (let at = 1; at < 200; at++) {
      const swapped = words.slice();
      [swapped[0], swapped[at]] = [words[at]!, words[0]!];
      expect(checksumOf(swapped)).not.toEqual(right);
      const sum = (all: Uint32Array) => all.reduce((total, word) => (total + word) >>> 0, 0);
      expect(sum(swapped)).toBe(sum(words));
    }
  });
});

describe("a sum of contributions", () => {
  /** Returns the amounts that a word adds to the two sums, by the definition. */
  const contribution = (at: number, word: number): [number, number] => {
    const mixed = (Math.imul(at >>> 2, 0x9e3779b1) + 0x7f4a7c15) | 0;
    const key = mixed ^ (mixed >>> 16);
    const factor = 1 + Math.imul((at & 3) * (at & 3), 0x85ebca6a);
    const folded = Math.imul(word + (word >>> 16), factor);
    return [Math.imul(key | 1, folded), Math.imul((key << 16) | (key >>> 16) | 1, folded)];
  };

  it("is what checksumOf computes", () => {
    let [a, b] = [0, 0];
    for (const [at, word] of words.entries()) {
      const [x, y] = contribution(at, word);
      [a, b] = [(a + x) >>> 0, (b + y) >>> 0];
    }
    expect([a, b]).toEqual(right);
  });

  it("lets none of a million double flips pass, anywhere in 64 MB", () => {
    let state = 1;
    const random = (below: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    let silent = 0;
    for (let i = 0; i < 1_000_000; i++) {
      const places = [random(2 ** 24), random(2 ** 24)];
      // Every other pair flips the same bit in both words, as such flips can cancel out.
      const first = random(32);
      const bits = [first, i % 2 ? first : random(32)];
      if (places[0] === places[1]) continue;
      let [a, b] = [0, 0];
      for (const [k, at] of places.entries()) {
        const word = random(2 ** 32);
        const [before, after] = [contribution(at, word), contribution(at, word ^ bit(bits[k]!))];
        a = (a + after[0] - before[0]) | 0;
        b = (b + after[1] - before[1]) | 0;
      }
      if (a === 0 && b === 0) silent++;
    }
    expect(silent).toBe(0);
  });
});

describe("placesOf", () => {
  it("is another for every number of words", () => {
    const counts = Array.from({ length: 2000 }, (_, i) => placesOf(i));
    expect(new Set(counts).size).toBe(counts.length);
  });
});

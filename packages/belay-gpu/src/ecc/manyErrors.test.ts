/** The figures of docs/design/codes.md about more errors than codes promise to handle. */
import { readFileSync } from "node:fs";
import { codeOperations } from "belay-research/internal/ecc/codeOperations";
import { type ComparedScheme, comparedSchemes } from "belay-research/internal/ecc/index";
import { describe, expect, it } from "vitest";
import { checksOf, wordsOf } from "../../../../test/support/devices/wrongGranules.ts";
import { type MemoryScheme, type SchemeName, schemes } from "./scheme.ts";

/** Returns the check word of each single data bit. */
function columnsOf(scheme: MemoryScheme): Uint32Array {
  const words = wordsOf(scheme);
  const data = new Uint32Array(32 * words * words);
  for (let bit = 0; bit < 32 * words; bit++) data[bit * words + (bit >>> 5)] = 1 << (bit & 31);
  return checksOf(scheme, data);
}

/**
 * Returns the number of sets of four bits, of data or of the check word, whose errors cancel out.
 */
function invisibleFours(bits: readonly number[]): number {
  const sums = new Uint32Array((bits.length * (bits.length - 1)) / 2);
  let count = 0;
  for (const [i, one] of bits.entries()) for (const other of bits.slice(0, i)) sums[count++] = one ^ other;
  sums.sort();
  let sets = 0;
  for (let i = 0, run = 0; i < sums.length; i++) {
    run = sums[i] === sums[i - 1] ? run + 1 : 0;
    sets += run;
  }
  // Each set is counted three times, once for each split into two pairs.
  return sets / 3;
}

const choose3 = (n: number) => (n * (n - 1) * (n - 2)) / 6;
const percent = (part: number) => `${(100 * part).toFixed(2)} %`;

/** The code of which packed schemes hold several words. */
const inner: Partial<Record<string, ComparedScheme>> = {
  packed32: "hsiao32",
  packed64: "hsiao64",
  packed64x4: "hsiao64",
};

/**
 * Returns the fraction of three-bit errors in one code word that are mistaken for a one-bit error.
 */
function mistakenTriples(scheme: MemoryScheme): number {
  if (!scheme.corrects) return 0;
  const checks = Array.from({ length: scheme.checkBits }, (_, bit) => (1 << bit) >>> 0);
  const bits = [...columnsOf(scheme), ...checks];
  // Any three errors of an invisible set are mistaken for the fourth.
  return (4 * invisibleFours(bits)) / choose3(bits.length);
}

/** Returns a row of the table in docs/design/codes.md. */
function rowOf(scheme: MemoryScheme): string {
  const { name, granuleBytes } = scheme;
  const packed = inner[name];
  const inside = packed ? comparedSchemes[packed] : scheme;
  const { checkBits, granuleBytes: codedBytes } = inside;
  const code = `(${8 * codedBytes + checkBits},${8 * codedBytes})`;
  const operations = (4 / granuleBytes) * codeOperations(scheme).encode;
  const cells = [
    `\`${name}\``,
    packed ? `${granuleBytes / codedBytes} × ${code}` : code,
    `${granuleBytes}`,
    `${Number((400 / granuleBytes).toFixed(1))} %`,
    operations.toFixed(1),
    percent(mistakenTriples(inside)),
  ];
  return `| ${cells.join(" | ")} |`;
}

it.each([
  ["docs/design/codes.md", Object.values(schemes)],
  ["research/codes.md", Object.values(comparedSchemes).filter(({ name }) => !Object.hasOwn(schemes, name))],
])("%s states the figures of its schemes", (path, described) => {
  const lines = readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8").split("\n");
  const rows = described.map(rowOf);
  const isRow = (line: string) =>
    Object.keys(comparedSchemes).some((name) => line.startsWith(`| \`${name}\` | `));
  expect(lines.filter((line) => isRow(line) && line.split("|").length === 8)).toEqual(rows);
});

describe.each(["secded32", "secded64", "secded128", "secded256", "secded1024"] satisfies SchemeName[])(
  "%s",
  (name) => {
    const columns = columnsOf(schemes[name]);
    const words = wordsOf(schemes[name]);
    /** The check words of the bits of each data word and of the check word. */
    const ofWord = [
      ...Array.from({ length: words }, (_, p) => [...columns.subarray(32 * p, 32 * p + 32)]),
      Array.from({ length: 32 }, (_, bit) => (1 << bit) >>> 0),
    ];
    const turned = (word: number) => ((word << 1) | (word >>> 31)) >>> 0;

    it("is quasi-cyclic, so that where in a word errors are does not matter", () => {
      for (const checks of ofWord) expect(checks.map(turned)).toEqual([...checks.slice(1), checks[0]]);
    });

    it("sees every error within one word", () => {
      for (const checks of ofWord) expect(rank(checks)).toBe(32);
    });

    it("never takes an error within 16 neighboring bits of a word for another", () => {
      const singles = new Set(ofWord.flat());
      let mistaken = 0;
      for (const checks of ofWord) {
        for (let code = 1, sum = 0; code < 1 << 16; code++) {
          // Each step changes one bit, as in a Gray code.
          sum ^= checks[31 - Math.clz32(code & -code)]!;
          const errors = code ^ (code >>> 1);
          if ((errors & (errors - 1)) !== 0 && singles.has(sum >>> 0)) mistaken += 1;
        }
      }
      expect(mistaken).toBe(0);
    });
  },
);

/** Returns the rank of a matrix over GF(2), given by its rows. */
function rank(rows: readonly number[]): number {
  const pivots: number[] = [];
  for (const row of rows) {
    const rest = pivots.reduce((left, pivot) => Math.min(left, (left ^ pivot) >>> 0), row);
    if (rest !== 0) pivots.push(rest);
  }
  return pivots.length;
}

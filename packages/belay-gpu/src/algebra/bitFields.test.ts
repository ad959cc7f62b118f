import { describe, expect, it } from "vitest";
import { extractBitsI32, extractBitsU32 } from "../reference/integers.ts";
import { type BitField, operated, wordAt } from "./bitFields.ts";

/** Returns the integer that a word has in a field. */
function integerIn(word: number, { bit, width, isSigned, left, plus }: BitField): number {
  const bits = isSigned ? extractBitsI32(word, bit, width) : extractBitsU32(word, bit, width);
  return ((bits << left) + plus) | 0;
}

const operations: Readonly<Record<string, (x: number, a: number, b: number) => number>> = {
  "&": (x, a) => x & a,
  "<<": (x, a) => x << a,
  ">>": (x, a) => x >> a,
  ">>>": (x, a) => x >>> a,
  "+": (x, a) => x + a,
  "-": (x, a) => x - a,
  extractBitsU32,
  extractBitsI32,
};
const words = [0, -1, 0x12345678, 0x89abcdef | 0, 0x80000001 | 0, 0x7ffffffe];

describe("an integer in a word", () => {
  it("has the value of the operations that led to it", () => {
    let random = 1;
    const draw = (below: number) => {
      random = (Math.imul(random, 747796405) + 2891336453) | 0;
      return (random >>> 8) % below;
    };
    let known = 0;
    for (let i = 0; i < 3000; i++) {
      let field: BitField | 0 | undefined = wordAt(0, 0);
      let values = words;
      for (let steps = 0; steps < 4 && field; steps++) {
        const name = Object.keys(operations)[draw(8)]!;
        const start = draw(29);
        const count = 1 + draw(32 - start);
        const mask = draw(2) ? 2 ** count - 1 : (2 ** count - 1) << start;
        const constants = name.startsWith("extract") ? [start, count] : [name === "&" ? mask : start];
        field = operated(field, name, ...constants);
        values = values.map((x) => operations[name]!(x, constants[0]!, constants[1]!) | 0);
        if (field === undefined) break;
        known++;
        const now = field;
        expect(words.map((word) => (now === 0 ? 0 : integerIn(word, now)))).toEqual(values);
      }
    }
    expect(known).toBeGreaterThan(3000);
  });
});

import { expect, it } from "vitest";
import { alignmentOf, type ByteOffset, indexed, inUnits, moved } from "./byteOffset.ts";

const start: ByteOffset = { terms: [], at: 0 };

it("adds terms and known bytes, and leaves the first offset as it was", () => {
  const part = moved(indexed(moved(start, 8), "i", 48), 4);
  expect(part).toEqual({ terms: [{ index: "i", stride: 48 }], at: 12 });
  expect(start).toEqual({ terms: [], at: 0 });
});

it("is aligned as the least aligned term, whatever the known bytes are", () => {
  expect(alignmentOf(moved(start, 4), 16)).toBe(16);
  expect(alignmentOf(indexed(start, "i", 48), 64)).toBe(16);
  expect(alignmentOf(indexed(indexed(start, "i", 48), "j", 4), 64)).toBe(4);
  expect(alignmentOf(indexed(start, "i", 64), 16)).toBe(16);
});

it("is written in units, rounded down, without terms that are zero", () => {
  expect(inUnits(start, 4)).toBe("0u");
  expect(inUnits(moved(start, 15), 8)).toBe("1u");
  expect(inUnits(indexed(start, "i", 16), 16)).toBe("i");
  expect(inUnits(indexed(moved(start, 7), "i", 16), 8)).toBe("i * 2u");
  expect(inUnits(indexed(indexed(moved(start, 8), "i", 32), "j", 8), 8)).toBe("i * 4u + j + 1u");
});

import { expect, it } from "vitest";
import { SampledBuffer } from "./sampledBuffer.ts";
import { pageBytes } from "./sampledContents.ts";

it("has pages and words above 2 GiB", () => {
  const start = 2 ** 31;
  const u32 = { kind: "scalar", name: "u32" } as const;
  const buffer = new SampledBuffer(
    start + 2 * pageBytes,
    { kind: "array", element: u32, count: "runtime" },
    true,
  );
  const place = start + pageBytes + 8;
  buffer.loadInteger(place);
  const page = { offset: start + pageBytes, size: pageBytes };
  expect(buffer.before.missing).toEqual([page]);
  buffer.before.provide(page, new Uint8Array(pageBytes).fill(1));
  buffer.reset();
  expect(buffer.loadInteger(place)).toBe(0x01010101);
  buffer.storeInteger(place, 7);
  buffer.noteCompared();
  expect(buffer.after.missing).toEqual([page]);
  const after = new Uint8Array(pageBytes);
  after[8] = 7;
  buffer.after.provide(page, after);
  expect([...buffer.storedPlaces]).toEqual([place]);
  expect(buffer.compareAt(place)).toEqual({ isBounded: true, isRight: true });
  after[8] = 8;
  expect(buffer.compareAt(place)).toEqual({ isBounded: true, isRight: false });
  expect(buffer.describe("x", place)).toMatchObject({ offset: place, expected: "7", actual: "8" });
});

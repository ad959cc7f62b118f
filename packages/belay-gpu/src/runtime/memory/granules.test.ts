import { expect, test } from "vitest";
import {
  allOf,
  bytesOf,
  type GranuleRange,
  granulesFor,
  granulesIn,
  type ProtectedBuffer,
  splitWrite,
} from "./granules.ts";

function bufferOf(size: number, granuleBytes: number): ProtectedBuffer {
  return { buffer: { size }, ...granulesFor(size, granuleBytes) } as ProtectedBuffer;
}

const indices = ({ first, count }: GranuleRange) => Array.from({ length: count }, (_, i) => first + i);

test.each([
  [4, 4, 4],
  [20, 4, 8],
  [20, 16, 2],
  [20, 128, 1],
  [20, Number.POSITIVE_INFINITY, 1],
])("gives a buffer of %d bytes with granules of %d bytes %d granules", (size, granuleBytes, count) => {
  const owner = bufferOf(size, granuleBytes);
  expect(owner.granules).toBe(count);
  const { size: allocated } = bytesOf(allOf(owner));
  expect(allocated).toBeGreaterThanOrEqual(size);
  expect(allocated % 16).toBe(0);
});

test.each([4, 8, 16, 32, Number.POSITIVE_INFINITY])("splits writes into granules of %d bytes", (granule) => {
  const size = 52;
  const owner = bufferOf(size, granule);
  for (let start = 0; start < size; start += 4) {
    for (let end = start + 4; end <= size; end += 4) {
      const replaced: number[] = [];
      const kept: number[] = [];
      for (const index of indices(allOf(owner))) {
        const from = index * owner.granuleBytes;
        const to = Math.min(from + owner.granuleBytes, size);
        if (from >= to || end <= from || to <= start) continue;
        (start <= from && to <= end ? replaced : kept).push(index);
      }
      const range = { offset: start, size: end - start };
      const { body, edges } = splitWrite(owner, range);
      expect([indices(body), edges.flatMap(indices)]).toEqual([replaced, kept]);
      expect(indices(granulesIn(owner, range))).toEqual([...replaced, ...kept].sort((a, b) => a - b));
    }
  }
});

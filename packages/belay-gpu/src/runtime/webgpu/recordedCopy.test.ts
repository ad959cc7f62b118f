import { expect, it } from "vitest";
import { flags } from "./nativeObjects.ts";
import { RecordedCopy } from "./recordedCopy.ts";
import type { BufferRange } from "./resources.ts";

const both = flags.bufferCopySrc | flags.bufferCopyDst;
const bufferOf = (usage: number = both) => ({ size: 16, usage }) as GPUBuffer;
const range = (buffer: GPUBuffer, offset = 0, size = 8): BufferRange => ({ buffer, offset, size });

const [a, b] = [bufferOf(), bufferOf()];
new RecordedCopy(range(a), range(b)).accept();
const [onlySource, onlyTarget] = [bufferOf(flags.bufferCopySrc), bufferOf(flags.bufferCopyDst)];
new RecordedCopy(range(onlySource), range(onlyTarget)).accept();

it.each([
  ["of other ranges", range(a, 8), range(b, 4), true],
  ["of nothing", range(a, 16, 0), range(b, 0, 0), true],
  ["in the other direction", range(b), range(a), true],
  ["between two others", range(onlySource), range(b), true],
  ["from an unknown buffer", range(bufferOf()), range(b), false],
  ["to an unknown buffer", range(a), range(bufferOf()), false],
  ["within a buffer", range(a), range(a, 8), false],
  ["from a buffer of another usage", range(onlyTarget), range(a), false],
  ["to a buffer of another usage", range(a), range(onlySource), false],
  ["from past the end", range(a, 12), range(b), false],
  ["to past the end", range(a), range(b, 12), false],
  ["from a negative offset", range(a, -4), range(b), false],
  ["of a negative size", range(a, 8, -8), range(b, 8, -8), false],
  ["at an odd offset", range(a, 2), range(b), false],
  ["of an odd size", range(a, 0, 6), range(b, 0, 6), false],
  ["of a size that is no number", range(a, 0, Number.NaN), range(b, 0, Number.NaN), false],
])("tells if the device accepts a copy %s, between buffers that it has accepted", (_, from, to, expected) => {
  expect(new RecordedCopy(from, to).isFamiliar).toBe(expected);
});

import { describe, expect, it, vi } from "vitest";
import { FilledBytesFinder } from "../../compiler/filledBytes.ts";
import { type BoundPlace, DispatchEffect } from "./dispatchUse.ts";
import { FilledRanges } from "./filled.ts";

const buffer = { size: 64 } as GPUBuffer;
const range = { buffer, offset: 0, size: 64 };

/** Returns an effect whose stores fill the buffer, and which may read it. */
function effectOf(mode: BoundPlace["mode"], source: string): DispatchEffect {
  const written = [range];
  const read = mode === "read_write" ? written : [];
  const effect = { kernel: undefined, read, written, replaced: [] };
  const kernel = { source, entryPoint: "fill", constants: {} };
  const bound = [{ of: { group: 0, binding: 0 }, place: range, mode }];
  return new DispatchEffect(effect, { kernel, grid: [1, 1, 1], bound });
}

const fill = (value: string) => `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(16) fn fill(@builtin(local_invocation_index) i: u32) { out[i] = ${value}; }`;

it("analyzes only dispatches that store to a buffer which they do not read", () => {
  const ranges = new FilledRanges();
  const of = vi.spyOn(ranges, "of");
  const unknown = { wordAt: () => undefined, versionOf: () => undefined };
  expect(effectOf("write", fill("i")).filling(ranges, unknown).replaced).toEqual([range]);
  expect(of).toHaveBeenCalledOnce();
  expect(effectOf("read_write", fill("out[i] + 1u")).filling(ranges, unknown).replaced).toEqual([]);
  expect(of).toHaveBeenCalledOnce();
});

it("asks again about the same dispatch only if a uniform buffer has changed", () => {
  const source = `
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @group(0) @binding(1) var<uniform> count: u32;
    @compute @workgroup_size(16) fn fill(@builtin(local_invocation_index) i: u32) { if (i < count) { out[i] = i; } }`;
  const uniform = { buffer: { size: 4 } as GPUBuffer, offset: 0, size: 4 };
  const bound = [range, uniform].map((place, binding) => ({ of: { group: 0, binding }, place }));
  const call = { kernel: { source, entryPoint: "fill", constants: {} }, grid: [1, 1, 1] as const, bound };
  const ranges = new FilledRanges();
  const wordAt = vi.fn<(range: unknown, byte: number) => number | undefined>();
  const sizeWith = (count: number | undefined, version: number | undefined) => {
    wordAt.mockReset().mockReturnValue(count);
    return ranges.of(call, { wordAt, versionOf: () => version })[0]?.size ?? 0;
  };
  expect(sizeWith(3, 1)).toBe(12);
  expect(sizeWith(3, 1)).toBe(12);
  expect(wordAt).not.toHaveBeenCalled();
  expect(sizeWith(5, 2)).toBe(20);
  expect(sizeWith(undefined, undefined)).toBe(0);
  expect(sizeWith(5, 3)).toBe(20);
});

describe("a uniform buffer that differs each time", () => {
  /** Returns the bytes that are filled for 40 counts, and the number of analyses. */
  const fillFor = (body: string) => {
    const find = vi.spyOn(FilledBytesFinder.prototype, "find");
    const source = `
      struct Counts { first: u32, second: u32 }
      @group(0) @binding(0) var<storage, read_write> out: array<u32>;
      @group(0) @binding(1) var<uniform> counts: Counts;
      @compute @workgroup_size(16) fn fill(@builtin(local_invocation_index) i: u32) { ${body} }`;
    const uniform = { buffer: { size: 8 } as GPUBuffer, offset: 0, size: 8 };
    const kernel = { source, entryPoint: "fill", constants: {} };
    const ranges = new FilledRanges();
    const bytes = Array.from({ length: 40 }, (_, count) => {
      const call = {
        kernel,
        grid: [1, 1, 1] as const,
        bound: [
          { of: { group: 0, binding: 0 }, place: range },
          { of: { group: 0, binding: 1 }, place: uniform },
        ],
      };
      const contents = {
        wordAt: (_: unknown, byte: number) => (byte === 0 ? 16 : count),
        versionOf: () => count,
      };
      return ranges.of(call, contents)[0]?.size ?? 0;
    });
    const analyses = find.mock.calls.length;
    find.mockRestore();
    return { bytes, analyses };
  };

  it("is analyzed no more if it decides nothing about the places of stores", () => {
    const { bytes, analyses } = fillFor("if (i < counts.first) { out[i] = counts.second; }");
    expect(new Set(bytes)).toEqual(new Set([64]));
    expect(analyses).toBe(18);
  });

  it("is analyzed each time if it does", () => {
    const { bytes, analyses } = fillFor("if (i < counts.second) { out[i] = counts.first; }");
    expect(bytes).toEqual(Array.from({ length: 40 }, (_, count) => Math.min(64, 4 * count)));
    expect(analyses).toBe(41);
  });
});

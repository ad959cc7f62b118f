import { expect, it, vi } from "vitest";
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
  const unknown = { wordAt: () => undefined };
  expect(effectOf("write", fill("i")).filling(ranges, unknown).replaced).toEqual([range]);
  expect(of).toHaveBeenCalledOnce();
  expect(effectOf("read_write", fill("out[i] + 1u")).filling(ranges, unknown).replaced).toEqual([]);
  expect(of).toHaveBeenCalledOnce();
});

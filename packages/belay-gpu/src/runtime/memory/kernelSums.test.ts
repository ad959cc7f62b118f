import { describe, expect, it } from "vitest";
import type { ProtectedKernel } from "../pipelines/protectedKernels.ts";
import { trialCells } from "./checksumKernels.ts";
import { KernelSums, type KnownUniforms } from "./kernelSums.ts";
import { isAsExpected } from "./memoryState.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

const buffer = { size: 16 } as GPUBuffer;
const grid = [1, 1, 1];

/** A kernel that loads a buffer. `varies` names the memory that decides what it loads. */
function loading(varies?: "uniforms" | "any") {
  const of = { group: 0, binding: 0 };
  const sums = [{ lanes: 1, dimensions: [] }];
  const row = { of, scheme: "checksum", index: 0, mode: "summed", loads: true, stores: false, sums, varies };
  const uniform = { of: { group: 0, binding: 1 }, index: 1, mode: "passVerified", isUniform: true };
  const kernel = { memory: { bindings: varies ? [row, uniform] : [row] } } as unknown as ProtectedKernel;
  return { kernel, rangeAt: () => ({ buffer, offset: 0, size: 16 }) };
}

const unknown: KnownUniforms = { versionOf: () => undefined, textOf: () => undefined };
/** Returns uniform buffers that all have these contents. */
const containing = (value: number): KnownUniforms => ({ versionOf: () => value, textOf: () => `${value}` });

/** Reads the device's outcome of a trial: true if each word was loaded equally often. */
function told(
  sums: KernelSums,
  bound: ReturnType<typeof loading>,
  isRight: boolean,
  uniforms = unknown,
): Uint32Array {
  const { cell, tag } = sums.on(bound, grid, uniforms).sums!.get(0)!.doubt!.trial!;
  const cells = new Uint32Array(trialCells);
  cells[cell] = 2 * tag + Number(isRight);
  return cells;
}

const made = () => new KernelSums({ of: () => ({}) } as unknown as ProtectedBuffers);
const scheme = { of: { group: 0, binding: 0 }, scheme: "checksum" };

it("learns from the device whether to count places or to sum another load", () => {
  for (const [isRight, less] of [
    [true, [{ ...scheme, isKnown: true }]],
    [false, [{ ...scheme, site: 0 }]],
  ] as const) {
    const [sums, bound] = [made(), loading()];
    expect(sums.on(bound, grid, unknown).variant).toBeUndefined();
    sums.read(told(sums, bound, isRight));
    expect(sums.on(bound, grid, unknown).variant).toEqual(less);
    expect(sums.on(bound, [2, 1, 1], unknown).variant).toBeUndefined();
  }
});

it("ignores a late outcome of another kernel's trial in the same cell", () => {
  const [sums, first, second] = [made(), loading(), loading()];
  const late = told(sums, first, true);
  sums.read(late);
  const own = told(sums, second, false);
  expect(own.findIndex((cell) => cell > 0)).toBe(late.findIndex((cell) => cell > 0));
  sums.read(late);
  expect(sums.on(second, grid, unknown).variant).toBeUndefined();
  sums.read(own);
  expect(sums.on(second, grid, unknown).variant).toEqual([{ ...scheme, site: 0 }]);
});

describe("a kernel whose loads depend on memory", () => {
  const doubtOf = (sums: KernelSums, bound: ReturnType<typeof loading>, uniforms: KnownUniforms) =>
    sums.on(bound, grid, uniforms).sums?.get(0)?.doubt;

  it("is tried once for each contents of its uniform buffers", () => {
    const [sums, bound] = [made(), loading("uniforms")];
    sums.read(told(sums, bound, true, containing(1)));
    expect(doubtOf(sums, bound, containing(1))).toBeUndefined();
    expect(doubtOf(sums, bound, containing(2))).toBeDefined();
    sums.read(told(sums, bound, false, containing(2)));
    expect(sums.on(bound, grid, containing(2)).variant?.[0]).toEqual({ ...scheme, site: 0 });
    expect(doubtOf(sums, bound, containing(1))).toBeUndefined();
  });

  it.each(["uniforms", "any"] as const)(
    "is tried each time if other memory decides, or unknown contents (%s)",
    (varies) => {
      const [sums, bound] = [made(), loading(varies)];
      const uniforms = varies === "any" ? containing(1) : unknown;
      sums.read(told(sums, bound, true, uniforms));
      expect(doubtOf(sums, bound, uniforms)).toMatchObject({ trial: undefined });
    },
  );

  it("is tried each time once its uniform buffers had other contents than expected", () => {
    const [sums, bound] = [made(), loading("uniforms")];
    sums.read(told(sums, bound, true, containing(1)));
    const { expected } = sums.on(bound, grid, containing(1));
    expect([1, 2].map((value) => isAsExpected(expected!, containing(value)))).toEqual([true, false]);
    expected!.missed();
    expect(sums.on(bound, grid, containing(1)).expected).toBeUndefined();
    expect(doubtOf(sums, bound, containing(1))).toBeDefined();
  });

  it("is tried each time after many different contents", () => {
    const [sums, bound] = [made(), loading("uniforms")];
    for (let value = 0; value < 32; value++) sums.read(told(sums, bound, true, containing(value)));
    expect(doubtOf(sums, bound, containing(31))).toBeUndefined();
    expect(doubtOf(sums, bound, containing(32))).toBeDefined();
    expect(doubtOf(sums, bound, containing(31))).toBeDefined();
  });
});

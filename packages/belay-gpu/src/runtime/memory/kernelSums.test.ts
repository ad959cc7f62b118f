import { expect, it } from "vitest";
import type { ProtectedKernel } from "../pipelines/protectedKernels.ts";
import { trialCells } from "./checksumKernels.ts";
import { KernelSums } from "./kernelSums.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

const buffer = { size: 16 } as GPUBuffer;
const grid = [1, 1, 1];

/** A kernel that loads a buffer. */
function loading() {
  const of = { group: 0, binding: 0 };
  const sums = [{ lanes: 1, dimensions: [] }];
  const row = { of, scheme: "checksum", index: 0, mode: "summed", loads: true, stores: false, sums };
  const kernel = { memory: { bindings: [row] } } as unknown as ProtectedKernel;
  return { kernel, rangeAt: () => ({ buffer, offset: 0, size: 16 }) };
}

/** Reads the device's outcome of a trial: true if each word was loaded equally often. */
function told(sums: KernelSums, bound: ReturnType<typeof loading>, isRight: boolean): Uint32Array {
  const { cell, tag } = sums.on(bound, grid).sums!.get(0)!.doubt!.trial!;
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
    expect(sums.on(bound, grid).variant).toBeUndefined();
    sums.read(told(sums, bound, isRight));
    expect(sums.on(bound, grid).variant).toEqual(less);
    expect(sums.on(bound, [2, 1, 1]).variant).toBeUndefined();
  }
});

it("ignores a late outcome of another kernel's trial in the same cell", () => {
  const [sums, first, second] = [made(), loading(), loading()];
  const late = told(sums, first, true);
  sums.read(late);
  const own = told(sums, second, false);
  expect(own.findIndex((cell) => cell > 0)).toBe(late.findIndex((cell) => cell > 0));
  sums.read(late);
  expect(sums.on(second, grid).variant).toBeUndefined();
  sums.read(own);
  expect(sums.on(second, grid).variant).toEqual([{ ...scheme, site: 0 }]);
});

import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { bufferKernels } from "../../../../../test/support/devices/arbitraryBuffers.ts";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { type CodedOutput, type Flip, runCoded } from "../../../../../test/support/kernels/codedKernels.ts";
import { type KernelOutput, runKernel } from "../../../../../test/support/kernels/kernelRunner.ts";
import { type CompilerResult, reportWords } from "../../compiler/contract.ts";
import { protect } from "../../compiler/protect.ts";
import { schemes } from "../../ecc/scheme.ts";
import { leavesOf } from "../../qualify/leaves.ts";
import { strideOf } from "../../wgsl/layout.ts";
import type { Type } from "../../wgsl/types.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const elements = 13;
/** Any word of these is a number in every type. */
const contents = (words: number, seed: number) =>
  new Uint32Array(Float32Array.from({ length: words }, (_, i) => seed + i / 1024).buffer);

describe.each(["secded32", "secded64", "secded128"] as const)("%s", (memory) => {
  const words = schemes[memory].granuleBytes / 4;

  it("corrects any bit, in data and check words, of buffers of any type, and flags any two of a granule", async () => {
    await fc.assert(
      fc.asyncProperty(bufferKernels, fc.integer({ min: 0 }), async ({ code, type }, seed) => {
        const stride = strideOf({ kind: "array", element: type, count: "runtime" }) / 4;
        const buffers = { 0: contents(elements * stride, 1), 1: contents(elements * stride, 2) };
        const input = { buffers, workgroups: [1, 1, 1] as const };
        const result = protect(code, { redundancy: "none", memory });
        const plain = await runKernel(device, code, input);
        const places = loadedWords(type, stride, words);
        const single = picked(places, seed, 6).map(
          ({ word, granule }, i): Flip =>
            i % 3 === 2
              ? { binding: 0, word: granule, mask: 1 << ((seed + i) % 7), inChecks: true }
              : { binding: 0, word, mask: bit(seed + 5 * i) },
        );
        const corrected = await runCoded(device, result, input, single);
        expect([corrected.uncorrectable, corrected.suspect, corrected.unfit]).toEqual([0, 0, [0]]);
        expect(corrected.corrected).toBeGreaterThanOrEqual(single.length);
        expect(sameData(corrected, plain, type, stride)).toBe(true);
        expect(recorded(corrected)).toSatisfy((granules: number[]) =>
          granules.every((granule) => single.some((flip) => granuleOf(flip, words) === granule)),
        );

        const [place] = picked(places, seed + 1, 1);
        const double: Flip = { binding: 0, word: place!.word, mask: bit(seed) | bit(seed + 1 + (seed % 30)) };
        const flagged = await runCoded(device, result, input, [double]);
        expect([flagged.corrected, flagged.uncorrectable > 0]).toEqual([0, true]);
      }),
      { numRuns: 2, seed: 7, endOnFailure: true },
    );
  });
});

describe("a check that is broken", () => {
  const code = `
    @group(0) @binding(0) var<storage, read> a: array<f32>;
    @group(0) @binding(1) var<storage, read_write> b: array<vec4f>;
    @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
      b[id.x] = vec4f(a[id.x]);
    }`;
  const input = { buffers: { 0: contents(8, 1), 1: contents(32, 2) }, workgroups: [1, 1, 1] as const };
  const flips: Flip[] = [{ binding: 0, word: 5, mask: 1 << 22 }];
  const result = protect(code, { redundancy: "none", memory: "secded128" });
  const run = async (broken: CompilerResult) => {
    const plain = await runKernel(device, code, input);
    const output = await runCoded(device, broken, input, flips);
    return { same: output.buffers[1]!.join() === plain.buffers[1]!.join(), corrected: output.corrected };
  };

  it("lets a flip through in silence, and the one that is not does not", async () => {
    const text = "belay_bad |= syndrome;";
    expect(result.code).toContain(text);
    expect(await run({ ...result, code: result.code.replaceAll(text, "") })).toEqual({
      same: false,
      corrected: 0,
    });
    // Four invocations load the granule.
    expect(await run(result)).toEqual({ same: true, corrected: 4 });
  });
});

const bit = (n: number) => 2 ** (n % 31);

/**
 * The words of the elements of binding 0 that hold data, which all kernels load, and the granules
 * that they are in.
 */
function loadedWords(type: Type, stride: number, granuleWords: number) {
  const words = new Set([...leavesOf(type, 4 * stride)].map(({ offset }) => Math.floor(offset / 4)));
  return Array.from({ length: elements }, (_, i) => [...words].map((word) => i * stride + word))
    .flat()
    .map((word) => ({ word, granule: Math.floor(word / granuleWords) }));
}

/** Some of them, in different granules. */
function picked<T extends { granule: number }>(places: readonly T[], seed: number, count: number): T[] {
  const chosen = new Map<number, T>();
  for (let i = 0; i < count; i++) {
    const place = places[(seed + i * 7919) % places.length]!;
    chosen.set(place.granule, place);
  }
  return [...chosen.values()];
}

const granuleOf = ({ word, inChecks }: Flip, words: number) => (inChecks ? word : Math.floor(word / words));

/** The granules of the records of corrections. */
function recorded({ report, corrected }: CodedOutput): number[] {
  const { memoryRecords, memoryRecordStride, memoryRecordCapacity } = reportWords;
  return Array.from(
    { length: Math.min(corrected, memoryRecordCapacity) },
    (_, i) => report[memoryRecords + i * memoryRecordStride + 1]!,
  );
}

/** Padding is nobody's. */
function sameData(a: KernelOutput, b: KernelOutput, type: Type, stride: number): boolean {
  return loadedWords(type, stride, 1).every(({ word }) => a.buffers[1]![word] === b.buffers[1]![word]);
}

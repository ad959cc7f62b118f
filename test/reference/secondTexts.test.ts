/** The second text of random kernels computes the same bits as the first, without a device. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { inputsOf, randomKernel } from "../../research/src/scripts/faultFree/kernels.ts";
import { halfKernel, kernel, kernelInput } from "../support/kernels/arbitraryKernels.ts";
import { expectSameResults, inSecondText } from "../support/kernels/twoTexts.ts";

const numRuns = Number(process.env.REFERENCE_KERNELS ?? 12);

it.each([
  ["in which order matters", kernel],
  ["with 16-bit floats", halfKernel],
])("keeps what kernels compute %s", (_, kernels) => {
  fc.assert(
    fc.property(kernels, (code) => expectSameResults([code, inSecondText(code)], kernelInput)),
    { numRuns },
  );
});

it("keeps what kernels compute with barriers, atomics, and floats that each operation rounds", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (seed) => {
      const made = randomKernel(seed, "rounded");
      const words = inputsOf(made, seed, "rounded").map(({ buffer }) => new Uint32Array(buffer));
      const isUsed = (_: unknown, i: number) => made.code.includes(`@binding(${i})`);
      const buffers = Object.fromEntries(words.filter(isUsed).map((each, i) => [i, each]));
      expectSameResults([made.code, inSecondText(made.code)], {
        buffers,
        workgroups: [made.workgroups, 1, 1],
      });
    }),
    { numRuns },
  );
});

it("notices a second text that rounds in another way", () => {
  const code = `@group(0) @binding(0) var<storage, read_write> x: array<f32, 4>;
    @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) { x[i] = x[i] + 100.0 - 99.7; }`;
  const input = {
    buffers: { 0: new Uint32Array(Float32Array.of(0.3, 1.7, 5.1, 9.9).buffer) },
    workgroups: [1, 1, 1] as const,
  };
  const second = inSecondText(code);
  expectSameResults([code, second], input);
  const grouped = second.replaceAll(/x\[i\] = .*;/g, "x[i] += 0.3;");
  expect(grouped).not.toBe(second);
  expect(() => expectSameResults([code, grouped], input)).toThrow();
});

/** The reference executor computes what a device computes. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { kernel, kernelInput } from "../support/kernels/arbitraryKernels.ts";
import { featureKernels } from "../support/kernels/featureKernels.ts";
import { runKernel } from "../support/kernels/kernelRunner.ts";
import { differences, runReference, translated } from "../support/kernels/reference.ts";

const devices = testDevices();

test("agrees on random kernels in which order matters", async () => {
  const device = await devices.newDevice();
  await fc.assert(
    fc.asyncProperty(kernel, async (code) => {
      const run = runReference(translated(code, kernelInput), kernelInput);
      expect(run.undecided).toBeUndefined();
      const { buffers } = await runKernel(device, code, kernelInput);
      for (const [binding, words] of Object.entries(buffers))
        expect(new Uint32Array(run.buffers[Number(binding)]!.bytes.buffer)).toEqual(words);
    }),
    { numRuns: Number(process.env.REFERENCE_KERNELS ?? 8) },
  );
});

for (const { name, code, unordered = [], ...input } of featureKernels)
  test(`agrees on ${name}`, async () => {
    const device = await devices.newDevice();
    const run = runReference(translated(code, input), input);
    if (name.includes("out of bounds")) return expect(run.undecided?.reason).toMatch("out of bounds");
    expect(run.undecided).toBeUndefined();
    const { buffers } = await runKernel(device, code, input);
    for (const [binding, words] of Object.entries(buffers))
      if (!unordered.includes(Number(binding)))
        expect(differences(run.buffers[Number(binding)]!, words)).toEqual([]);
  });

/** `qualify` finds no right device wrong: neither by random kernels nor by inputs that it makes. */
import { TriedDevice } from "belay-gpu/internal/qualify/deviceRun";
import { examine } from "belay-gpu/internal/qualify/examine";
import { ownCandidates } from "belay-gpu/internal/qualify/qualify";
import type { KernelCase, KernelToQualify } from "belay-gpu/qualify";
import fc from "fast-check";
import { expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { kernel, kernelInput } from "../support/kernels/arbitraryKernels.ts";
import { featureKernels } from "../support/kernels/featureKernels.ts";

const devices = testDevices();

async function caseOf(device: GPUDevice, kernel: KernelToQualify): Promise<KernelCase> {
  const [candidate] = ownCandidates([kernel], device);
  return examine(new TriedDevice(device, undefined), candidate!);
}

it("agrees on random kernels in which order matters", async () => {
  const device = await devices.newDevice();
  const buffers = Object.entries(kernelInput.buffers).map(([binding, data]) => ({
    group: 0,
    binding: Number(binding),
    data,
  }));
  await fc.assert(
    fc.asyncProperty(kernel, async (source) => {
      const found = await caseOf(device, { source, buffers, workgroups: [1, 1, 1] });
      expect(found).toMatchObject({ outcome: "agrees" });
    }),
    { numRuns: Number(process.env.QUALIFIED_KERNELS ?? 4) },
  );
});

it("agrees on kernels of each feature, or does not decide", async () => {
  const device = await devices.newDevice();
  const cases = await Promise.all(
    featureKernels.map(({ name, code: source, entryPoint, constants, workgroups }) =>
      // In larger grids, workgroups of some kernels race.
      caseOf(device, {
        name,
        source,
        workgroups,
        ...(entryPoint && { entryPoint }),
        ...(constants && { constants }),
      }),
    ),
  );
  expect(cases.filter(({ outcome }) => outcome !== "agrees" && outcome !== "undecided")).toEqual([]);
  expect(cases.filter(({ outcome }) => outcome === "agrees").length).toBeGreaterThan(10);
});

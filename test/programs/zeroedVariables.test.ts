/** Variables without initializer are zero in every replica, whatever protection repeats. */
import type { CampaignPolicy } from "belay-gpu/internal/runtime/context/policy";
import { hardenForCampaign } from "belay-gpu/internal/runtime/harden";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeDispatch } from "../support/devices/encodeDispatch.ts";
import { download, upload } from "../support/devices/storageBuffers.ts";
import { testDevices } from "../support/devices/testDevices.ts";
import { zeroedInput, zeroedKernel } from "../support/kernels/zeroedKernels.ts";
import { everything } from "../support/sample.ts";

const { sharedDevice } = testDevices({ full: true });

/** Runs a kernel twice, the second time on its own results. */
async function outputOf(device: GPUDevice, code: string): Promise<number[]> {
  const pipeline = await device.createComputePipelineAsync({
    layout: "auto",
    compute: { module: device.createShaderModule({ code }) },
  });
  const buffers = [0, 1].map((binding) => upload(device, [...zeroedInput.buffers[binding]!]));
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  const encoder = device.createCommandEncoder();
  encodeDispatch(
    encoder,
    pipeline,
    device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }),
    ...zeroedInput.workgroups,
  );
  device.queue.submit([encoder.finish()]);
  return download(device, buffers[1]!);
}

const policies: CampaignPolicy[] = [
  { redundancy: "auto" },
  { redundancy: "intra+lds", pairing: "passes" },
  { redundancy: "intra+lds", check: "store" },
  { redundancy: "intra+lds", check: "signature", channel: "workgroup" },
  { redundancy: "intra-lds", check: "store" },
  { redundancy: "intra-lds", check: "signature" },
  { redundancy: "intra+lds", pairing: "half-subgroup" },
  { redundancy: "intra+lds", pairing: "subgroups" },
  { redundancy: "inter", check: "store" },
  { redundancy: "inter", check: "signature" },
  { redundancy: "none", memory: "secded128" },
  { redundancy: "none", memory: "secded32" },
  { redundancy: "none", memory: "checksum" },
  { redundancy: "intra+lds", pairing: "passes", memory: "secded64" },
  { redundancy: "intra+lds", pairing: "passes", injectFaults: true, strikeMachinery: true },
];
const nameOf = (policy: CampaignPolicy) => Object.values(policy).join(", ");

describe("a kernel that relies on zeros", () => {
  it.each(policies.map((policy, place) => [nameOf(policy), policy, place] as const))(
    "computes as on the plain device under %s",
    async (_, policy, place) => {
      const plain = await sharedDevice();
      const device = hardenForCampaign(await sharedDevice(), policy);
      let taken = 0;
      await fc.assert(
        fc.asyncProperty(zeroedKernel, async (code) => {
          expect(await outputOf(device, code)).toEqual(await outputOf(plain, code));
        }),
        { numRuns: everything ? 40 : 3, seed: place },
      );
      for (const { redundancy, detections } of (await device.belay.report()).kernels) {
        expect(detections).toBe(0);
        if (redundancy !== "none" || policy.redundancy === "none") taken++;
      }
      expect(taken).toBeGreaterThan(0);
      device.destroy();
      plain.destroy();
    },
  );
});

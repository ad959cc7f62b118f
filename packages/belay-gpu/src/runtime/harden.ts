import { protect } from "../compiler/protect.ts";
import type { Policy } from "./context/policy.ts";
import { type HardenedDevice, hardenWith } from "./hardenedDevice.ts";

/**
 * Hardens a WebGPU device: programs that use the returned device, unmodified, run protected
 * kernels, and see results only after those are verified. The device that is passed in stays as it
 * is.
 *
 * Rejects with a `TypeError` for what is no device, and for a policy that makes no sense, or asks
 * for what the device does not have.
 */
export async function harden(device: GPUDevice, policy?: Policy): Promise<HardenedDevice> {
  if (typeof device?.createComputePipeline !== "function")
    throw new TypeError("only a GPUDevice can be hardened");
  return hardenWith(protect, device, policy);
}

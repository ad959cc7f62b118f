import { protectOnce } from "../compiler/keptResults.ts";
import { type CampaignPolicy, type Policy, refuseUnknownPolicy } from "./context/policy.ts";
import { type CampaignDevice, type HardenedDevice, hardenWith } from "./hardenedDevice.ts";

/**
 * Hardens a WebGPU device. Unmodified programs on the returned device run protected kernels, and
 * see results only after verification. The given device does not change.
 *
 * Throws a `TypeError` if the argument is no device, and for an invalid policy or one that the
 * device does not support. Throws a `BelayError` (BELAY339) if the device is already hardened.
 */
export function harden(device: GPUDevice, policy?: Policy): HardenedDevice {
  if (typeof device?.createComputePipeline !== "function")
    throw new TypeError("only a GPUDevice can be hardened");
  refuseUnknownPolicy(policy);
  return hardenWith(protectOnce, device, policy);
}

/**
 * Hardens a device for a campaign, which may also count executions of fault sites and strike the
 * code that protection adds. Throws as {@link harden} does.
 */
export function hardenForCampaign(device: GPUDevice, policy: CampaignPolicy): CampaignDevice {
  return hardenWith(protectOnce, device, policy);
}

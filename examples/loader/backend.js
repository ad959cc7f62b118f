/** Opens the device on which TensorFlow.js computes. */

import "@tensorflow/tfjs-backend-cpu";
import { WebGPUBackend } from "@tensorflow/tfjs-backend-webgpu";
import * as tf from "@tensorflow/tfjs-core";
import { harden, requestFullDevice } from "belay-gpu";
import { auditor } from "belay-gpu/audit";
import { qualify } from "belay-gpu/qualify";

/**
 * Tries the device, and sets the backend: the hardened device, or the CPU. Resolves to the device, or
 * to undefined for the CPU. `tell` is called with what was found. `changeDriver` gets the device after
 * its trial.
 */
export async function openBackend({ tell, changeDriver }) {
  const adapter = await navigator.gpu?.requestAdapter();
  const plain = adapter && (await requestFullDevice(adapter));
  const { verdict, reasons } = plain
    ? await qualify(plain)
    : { verdict: "not-usable", reasons: ["there is no WebGPU"] };
  for (const line of [`verdict: ${verdict}`, ...reasons]) tell(line);
  // A device that is usable without some features will do: TensorFlow.js uses none of them.
  if (verdict === "not-usable") {
    await tf.setBackend("cpu");
    return undefined;
  }
  changeDriver(plain);
  // An audit computes some workgroups again on the CPU. The default is one in a hundred.
  const device = harden(plain, { audit: auditor({ rate: 1, budget: 1 }) });
  tf.registerBackend("hardened", () => new WebGPUBackend(device));
  tf.copyRegisteredKernels("webgpu", "hardened");
  await tf.setBackend("hardened");
  // Small tensors would otherwise not use the GPU.
  tf.env().set("WEBGPU_CPU_FORWARD", false);
  return device;
}

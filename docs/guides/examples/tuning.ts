/** Chooses the policy of a program by measurement. */
import { harden, tune } from "belay-gpu";
import { openGpu } from "belay-node";
import blur from "./blur.ts";

const { gpu, close } = await openGpu();

/** Creates a device that can measure times. */
async function newDevice(): Promise<GPUDevice> {
  const adapter = await gpu.requestAdapter();
  return adapter!.requestDevice({ requiredFeatures: ["timestamp-query"] });
}

const { policies } = await tune(blur, { newDevice, signal: AbortSignal.timeout(60_000) });
const device = harden(await newDevice(), { kernels: policies });
await blur(device);
close();

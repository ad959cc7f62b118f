import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { NoAdapterError, type OpenedGpu } from "./adapter.ts";

/**
 * Makes a device of the adapter that was opened. An adapter object is good for one device, so each
 * gets its own.
 */
export async function newDevice({ gpu, choice }: OpenedGpu): Promise<GPUDevice> {
  const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new NoAdapterError(choice.tried);
  return requestFullDevice(adapter);
}

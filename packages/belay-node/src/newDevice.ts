import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { NoAdapterError, type OpenedGpu } from "./adapter.ts";

/**
 * Creates a device of the opened adapter. An adapter object is good for one device, so each device
 * gets a new one.
 */
export async function newDevice({ gpu, choice }: OpenedGpu): Promise<GPUDevice> {
  const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new NoAdapterError(choice.tried);
  return requestFullDevice(adapter);
}

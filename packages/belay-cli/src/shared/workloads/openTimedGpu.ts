import { type OpenedGpu, type OpenGpuOptions, openGpu } from "belay-node/internal/adapter";
import { CommandFailure } from "../terminal/failure.ts";

/**
 * Opens WebGPU for a command that measures on the GPU's own clock. Rejects with a `CommandFailure`
 * if the adapter has no timestamps.
 */
export async function openTimedGpu(options?: OpenGpuOptions): Promise<OpenedGpu> {
  const opened = await openGpu(options);
  if (opened.adapter.features.has("timestamp-query")) return opened;
  opened.close();
  throw new CommandFailure("no-timestamps", `${opened.choice.description} has no feature timestamp-query`, {
    help: "belay doctor shows which adapters there are",
  });
}

import { DeviceFailure } from "./deviceFailure.ts";
import type { Workspace } from "./workspace.ts";

/** A buffer, or the start of one, to be read. */
export interface Reading {
  readonly buffer: GPUBuffer;
  /** How much of it, from `offset` on; multiples of four. */
  readonly bytes: number;
  readonly offset?: number;
}

/**
 * Copies buffers to the host through one staging buffer, in one submit together with what the encoder holds. Resolves to a function
 * that shows each reading's bytes, once: they are gone afterwards.
 */
export async function readBuffers(
  workspace: Workspace,
  readings: readonly Reading[],
  encoder: GPUCommandEncoder = workspace.device.createCommandEncoder(),
): Promise<(use: (bytes: Uint8Array<ArrayBuffer>, place: number) => void) => void> {
  const { device } = workspace;
  const total = readings.reduce((sum, { bytes }) => sum + bytes, 0);
  const staging = workspace.borrowStaging(total);
  let start = 0;
  const places = readings.map(({ buffer, bytes, offset = 0 }) => {
    encoder.copyBufferToBuffer(buffer, offset, staging, start, bytes);
    start += bytes;
    return start - bytes;
  });
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ, 0, total).catch((error: unknown) => {
    throw new DeviceFailure("its memory cannot be read", { cause: error });
  });
  const mapped = staging.getMappedRange(0, total);
  return (use) => {
    for (const [place, { bytes }] of readings.entries())
      use(new Uint8Array(mapped, places[place]!, bytes), place);
    staging.unmap();
    workspace.giveBack(staging);
  };
}

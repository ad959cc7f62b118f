import { DeviceFailure } from "./deviceFailure.ts";
import type { Workspace } from "./workspace.ts";

/** A buffer, or a part of one, to be read. */
export interface Reading {
  readonly buffer: GPUBuffer;
  /** How much of it, from `offset` on; multiples of four. */
  readonly bytes: number;
  readonly offset?: number;
}

/** Is given what a reading has from `start` on; the memory is gone afterwards. */
type Use = (bytes: Uint8Array<ArrayBuffer>, place: number, start: number) => void;

interface Piece {
  readonly place: number;
  readonly start: number;
  readonly from: number;
  readonly size: number;
}

/**
 * Copies buffers to the host through staging buffers of so many bytes at most, in one submit
 * together with what the encoder holds. Resolves, when everything has come, to a function that
 * shows each reading's bytes, once: in order and in pieces where they take several staging buffers.
 */
export async function readBuffers(
  workspace: Workspace,
  readings: readonly Reading[],
  encoder: GPUCommandEncoder = workspace.device.createCommandEncoder(),
  chunk = Number.MAX_SAFE_INTEGER,
): Promise<(use: Use) => void> {
  const total = readings.reduce((sum, { bytes }) => sum + bytes, 0);
  const stagings = Array.from({ length: Math.ceil(total / chunk) }, (_, n) => {
    const size = Math.min(chunk, total - n * chunk);
    return { size, buffer: workspace.borrowStaging(size), pieces: [] as Piece[] };
  });
  let at = 0;
  for (const [place, { buffer, bytes, offset = 0 }] of readings.entries()) {
    for (let start = 0; start < bytes; ) {
      const staging = stagings[Math.floor(at / chunk)]!;
      const from = at % chunk;
      const size = Math.min(bytes - start, chunk - from);
      encoder.copyBufferToBuffer(buffer, offset + start, staging.buffer, from, size);
      staging.pieces.push({ place, start, from, size });
      start += size;
      at += size;
    }
  }
  workspace.device.queue.submit([encoder.finish()]);
  const mapped = stagings.map(({ buffer, size }) => buffer.mapAsync(GPUMapMode.READ, 0, size));
  // Nothing is shown before everything is here: a device that fails meanwhile must leave the host
  // as it was.
  await Promise.all(mapped).catch((error: unknown) => {
    throw new DeviceFailure("its memory cannot be read", { cause: error });
  });
  return (use) => {
    for (const { buffer, size, pieces } of stagings) {
      const memory = buffer.getMappedRange(0, size);
      for (const piece of pieces)
        use(new Uint8Array(memory, piece.from, piece.size), piece.place, piece.start);
      buffer.unmap();
      workspace.giveBack(buffer);
    }
  };
}

import { DeviceFailure } from "./deviceFailure.ts";
import type { Workspace } from "./workspace.ts";

/** A buffer, or a part of one, to be read. */
export interface Reading {
  readonly buffer: GPUBuffer;
  /** The number of bytes from `offset` on; both are multiples of four. */
  readonly bytes: number;
  readonly offset?: number;
}

/**
 * A function that receives a reading's bytes from `start` on. Their memory is valid only during the
 * call.
 */
type Use = (bytes: Uint8Array<ArrayBuffer>, place: number, start: number) => void;

interface Piece {
  readonly place: number;
  readonly start: number;
  readonly from: number;
  readonly size: number;
}

/**
 * Copies buffers to the host through staging buffers of at most `chunk` bytes, in one submission
 * together with the encoder's commands. Resolves, when all data has arrived, to a function that
 * passes each reading's bytes to `use`. It may be called once. It passes bytes in order, and in
 * pieces if they span staging buffers. Rejects with a `DeviceFailure`.
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
  // No data is passed on before all has arrived. If the device fails in between, the host's state
  // must be unchanged.
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

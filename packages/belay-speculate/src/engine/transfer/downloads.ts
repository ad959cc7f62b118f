import { speculationError } from "../../diagnostics/speculation.ts";
import { DeviceFailure } from "../device/deviceFailure.ts";
import { readBuffers } from "../device/readBuffers.ts";
import type { Workspace } from "../device/workspace.ts";
import { moving } from "../policy/tuning.ts";

/** The bytes moved between the program and the device. */
export interface Moved {
  uploaded: number;
  downloaded: number;
}

/** The reading that brings an array up to date. */
export interface PendingDownload {
  readonly workspace: Workspace;
  readonly buffer: GPUBuffer;
  readonly bytes: number;
  /**
   * Takes the bytes read from `start` on, piece by piece. Returns the number of the array's bytes
   * among them.
   */
  take(bytes: Uint8Array, start: number): number;
}

/** An object that a device may have changed. */
export interface Downloadable {
  readonly pending: PendingDownload | null;
}

/** Brings arrays up to date that the device has changed, in one submission per device. */
export async function download(
  arrays: readonly Downloadable[],
  moved: Moved = { uploaded: 0, downloaded: 0 },
): Promise<void> {
  const pending = arrays.flatMap((array) => array.pending ?? []);
  for (const workspace of new Set(pending.map(({ workspace }) => workspace))) {
    const downloads = pending.filter((each) => each.workspace === workspace);
    const total = downloads.reduce((sum, { bytes }) => sum + bytes, 0);
    const longest = Math.max(moving.chunk, 4 * Math.ceil(total / moving.downloadChunks / 4));
    const read = await readBuffers(workspace, downloads, undefined, longest);
    read((bytes, place, start) => {
      moved.downloaded += downloads[place]!.take(bytes, start);
    });
  }
}

/**
 * Downloads arrays that cannot be computed again. Throws a `SpeculationError` if the device fails.
 */
export async function rescue(arrays: readonly Downloadable[], moved?: Moved): Promise<void> {
  try {
    await download(arrays, moved);
  } catch (error) {
    throw error instanceof DeviceFailure ? speculationError.lostArrays([], error) : error;
  }
}

import { speculationError } from "../diagnostics/speculation.ts";
import type { LoopData } from "../loops/sequential.ts";
import { DeviceFailure } from "./deviceFailure.ts";
import { readBuffers } from "./readBuffers.ts";
import type { Workspace } from "./workspace.ts";

/** Bytes moved between the program and the device. */
export interface Moved {
  uploaded: number;
  downloaded: number;
}

/** A part of an array: bytes from `start` to `end - 1`. */
interface Range {
  readonly start: number;
  readonly end: number;
}

const kept = new WeakMap<LoopData, Resident>();

/** The array as one that stays on the GPU, if the program has asked for that. */
export function residentOf(array: LoopData | Resident): LoopData | Resident {
  return array instanceof Resident ? array : (kept.get(array) ?? array);
}

/**
 * An array that stays on the GPU from one loop to the next, and moves only when the other side has changed it. Between loops the
 * program reads it with {@link read} and changes it with {@link write}.
 */
export class Resident<Data extends LoopData = LoopData> {
  readonly #host: Data;
  #workspace: Workspace | null = null;
  #buffer: GPUBuffer | null = null;
  /** What the device does not know yet. */
  #unsent: Range;
  /** Whether the device has changed the array since it was last read. */
  #changed = false;

  /** Takes the array over: from now on change it only with {@link write}. */
  constructor(host: Data) {
    this.#host = host;
    this.#unsent = { start: 0, end: host.byteLength };
  }

  get length(): number {
    return this.#host.length;
  }

  /** The array as loops left it. It is the program's array that was taken over, brought up to date. */
  async read(): Promise<Data> {
    await rescue([this]);
    return this.#host;
  }

  /** Changes elements from `start` on. */
  async write(values: ArrayLike<number>, start = 0): Promise<void> {
    await rescue([this]);
    this.#host.set(values, start);
    const bytes = this.#host.BYTES_PER_ELEMENT;
    this.hostChanged({ start: start * bytes, end: (start + values.length) * bytes });
  }

  /** Frees the memory on the device, where the array stays no longer. What loops changed since the last {@link read} is lost. */
  release(): void {
    kept.delete(this.#host);
    this.drop();
  }

  /** Frees the memory on the device, and takes the array itself as the truth. */
  drop(): void {
    this.#buffer?.destroy();
    this.#forget();
  }

  /** The array itself, which may be older than what the device has. */
  get host(): Data {
    return this.#host;
  }

  /** Whether the device's copy is the only one that is up to date. */
  get isOnDevice(): boolean {
    return this.#changed;
  }

  /** Whether only another device's copy is up to date. */
  isElsewhere(workspace: Workspace): boolean {
    return this.#changed && this.#workspace !== workspace;
  }

  /** Bytes that {@link upload} would send. */
  bytesToSend(workspace: Workspace): number {
    return this.#workspace === workspace ? this.#unsent.end - this.#unsent.start : this.#host.byteLength;
  }

  /** The array's memory on the device, up to date. The device's copy must not be newer on another device. */
  upload(workspace: Workspace, moved: Moved): GPUBuffer {
    if (this.#workspace !== workspace || !this.#buffer) {
      this.#buffer?.destroy();
      this.#workspace = workspace;
      this.#buffer = workspace.borrow(padded(this.#host.byteLength));
      this.#unsent = { start: 0, end: this.#host.byteLength };
    }
    const { start, end } = this.#unsent;
    if (start < end) {
      const [from, to] = [start & ~3, Math.min(Math.ceil(end / 4) * 4, this.#host.byteLength)];
      const { buffer, byteOffset } = this.#host;
      workspace.uploads.write(this.#buffer, from, new Uint8Array(buffer, byteOffset + from, to - from));
      moved.uploaded += end - start;
    }
    this.#unsent = { start: 0, end: 0 };
    return this.#buffer;
  }

  /** Says that kernels have written to the device's copy, or are about to. */
  deviceChanged(): void {
    this.#changed = true;
  }

  /** Says that the array itself has been changed, in a part of it or anywhere. */
  hostChanged({ start, end }: Range = { start: 0, end: this.#host.byteLength }): void {
    const before = this.#unsent;
    const empty = before.start >= before.end;
    this.#unsent = empty
      ? { start, end }
      : { start: Math.min(start, before.start), end: Math.max(end, before.end) };
  }

  /** Gives the memory on the device back to be used for other arrays. */
  giveBack(): void {
    if (this.#buffer) this.#workspace?.giveBack(this.#buffer);
    this.#forget();
  }

  #forget(): void {
    this.#buffer = null;
    this.#workspace = null;
    this.#changed = false;
  }

  /** What to read to bring the array up to date; null when it is. */
  get pending(): PendingDownload | null {
    if (!this.#changed) return null;
    const { byteLength } = this.#host;
    const take = (bytes: Uint8Array) => {
      // The memory of an empty array may have been given away.
      if (byteLength > 0)
        new Uint8Array(this.#host.buffer, this.#host.byteOffset, byteLength).set(
          bytes.subarray(0, byteLength),
        );
      this.#changed = false;
      return byteLength;
    };
    return { workspace: this.#workspace!, buffer: this.#buffer!, bytes: padded(byteLength), take };
  }
}

interface PendingDownload {
  readonly workspace: Workspace;
  readonly buffer: GPUBuffer;
  readonly bytes: number;
  /** Takes what was read; gives how many bytes that was. */
  take(bytes: Uint8Array): number;
}

/**
 * Keeps an array on the GPU between loops, also those of translated functions that are given the array itself, until it is released; see
 * {@link Resident}.
 */
export function resident<Data extends LoopData>(array: Data): Resident<Data> {
  const known = kept.get(array) as Resident<Data> | undefined;
  const result = known ?? new Resident(array);
  kept.set(array, result);
  return result;
}

/** As {@link download}, for arrays that nobody can compute again. */
export async function rescue(residents: readonly Resident[], moved?: Moved): Promise<void> {
  try {
    await download(residents, moved);
  } catch (error) {
    throw error instanceof DeviceFailure ? speculationError.lostArrays([], error) : error;
  }
}

/** Brings arrays up to date that the device has changed, in one go. */
export async function download(
  residents: readonly Resident[],
  moved: Moved = { uploaded: 0, downloaded: 0 },
): Promise<void> {
  const pending = residents.flatMap((resident) => resident.pending ?? []);
  for (const workspace of new Set(pending.map(({ workspace }) => workspace))) {
    const downloads = pending.filter((each) => each.workspace === workspace);
    const read = await readBuffers(workspace, downloads);
    read((bytes, place) => {
      moved.downloaded += downloads[place]!.take(bytes);
    });
  }
}

function padded(bytes: number): number {
  return Math.max(4, Math.ceil(bytes / 4) * 4);
}

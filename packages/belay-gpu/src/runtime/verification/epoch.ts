import type { CommandRecord } from "../recording/commandRecord.ts";
import type { GpuResource, ResourceRange } from "../webgpu/resources.ts";
import type { Contents } from "./snapshots.ts";

/** The host wrote into a buffer or a texture. */
export interface HostWrite {
  readonly target: GpuResource;
  /** What of it was replaced; absent where that is a part of a texture. */
  readonly replaced?: ResourceRange | undefined;
  /** Writes the same again; absent when that is never needed. */
  readonly again?: () => void;
}

/** Commands were submitted. A command buffer can be submitted more than once, though in vain. */
export interface Submission {
  readonly record: CommandRecord;
}

/** Something that the program asked of the queue, in order. */
export type QueueEvent = Submission | HostWrite;

/** All that was submitted between two checks. */
export interface Epoch {
  readonly events: QueueEvent[];
  /** What of it the device has refused, as far as that is known: it never happened. */
  readonly refused: Set<QueueEvent>;
  readonly touched: Set<GpuResource>;
  /** What the epoch overwrites, as it was before. */
  readonly past: Map<GpuResource, Contents>;
  /** Settle when it is known whether the device has accepted the events and the snapshots. */
  readonly answers: Promise<void>[];
  /** Why the epoch cannot be run again, if so, whatever the obstacles in its commands. */
  obstacle?: string;
}

export function newEpoch(): Epoch {
  return { events: [], refused: new Set(), touched: new Set(), past: new Map(), answers: [] };
}

import type { CommandRecord } from "./commandRecord.ts";
import type { Resource } from "./resources.ts";
import type { Contents } from "./snapshots.ts";

/** The host wrote into a buffer or a texture. */
export interface HostWrite {
  readonly target: Resource;
  /** All of it was replaced. */
  readonly whole: boolean;
  /** Writes the same again; absent when that is never needed. */
  readonly again?: () => void;
}

/** Something that happened on the queue, in order. */
export type QueueEvent = CommandRecord | HostWrite;

/** All that was submitted between two checks. */
export interface Epoch {
  readonly events: QueueEvent[];
  readonly touched: Set<Resource>;
  /** What the epoch overwrites, as it was before. */
  readonly past: Map<Resource, Contents>;
  /** Settle when the device has taken, or refused, the snapshots. */
  readonly saving: Promise<void>[];
  /** Why the epoch cannot be run again, if so. */
  obstacle?: string;
}

export function newEpoch(): Epoch {
  return { events: [], touched: new Set(), past: new Map(), saving: [] };
}

import type { CommandRecord } from "../recording/commandRecord.ts";
import type { Effect } from "../recording/dispatchUse.ts";
import type { Members } from "../webgpu/growingSet.ts";
import type { GpuResource, ResourceRange } from "../webgpu/resources.ts";
import type { Contents } from "./snapshots.ts";

/** A write of the host to a buffer or a texture. */
export interface HostWrite {
  readonly target: GpuResource;
  /** The range that was replaced; absent for a part of a texture. */
  readonly replaced?: ResourceRange | undefined;
  /** Repeats the write; absent if that is never needed. */
  readonly again?: () => void;
  /** The reason why the write cannot be repeated, although it may be needed. */
  readonly obstacle?: string;
}

/** A submitted command buffer. It can be submitted more than once, which the device rejects. */
export interface Submission {
  readonly record: CommandRecord;
}

/** One call of the program on the queue. */
export type QueueEvent = Submission | HostWrite;

/** The submitted work between two checks. It is the unit of recovery. */
export interface Epoch {
  readonly events: QueueEvent[];
  /**
   * The events before the first one that a check can find wrong. They are not executed again, so
   * nothing is saved for them.
   */
  readonly unchecked: QueueEvent[];
  /** The events that the device is known to have rejected. They had no effect. */
  readonly rejected: Set<QueueEvent>;
  /** The resources that events use, as far as it was asked. `touchedBy` returns all. */
  readonly touched: Set<GpuResource>;
  /** The submissions whose resources are not among the touched ones yet. */
  readonly unfollowed: Submission[];
  /** Events of accepted commands, by their first effect. Equal commands after them share them. */
  readonly shared: Map<Effect, Submission>;
  /** The contents of resources before the epoch wrote them. */
  readonly contentsBefore: Map<GpuResource, Contents>;
  /**
   * Promises that settle when it is known whether the device accepted the events and the snapshots.
   */
  readonly acceptances: Promise<void>[];
  /** The device's errors about snapshots, by the resources that were to be saved. */
  readonly unsaved: Map<GpuResource, string>;
  /** The reasons why events cannot be executed again: there was no room for their snapshots. */
  readonly withoutRoom: Map<QueueEvent, string>;
  /**
   * The submissions of which the commands of later executions ran at once, as the epoch cannot be
   * executed again.
   */
  readonly decided: Set<QueueEvent>;
}

export function newEpoch(): Epoch {
  return {
    events: [],
    unchecked: [],
    rejected: new Set(),
    touched: new Set(),
    unfollowed: [],
    shared: new Map(),
    contentsBefore: new Map(),
    acceptances: [],
    unsaved: new Map(),
    withoutRoom: new Map(),
    decided: new Set(),
  };
}

/** Returns the events of epochs that the device is not known to have rejected, oldest first. */
export function acceptedEvents(epochs: readonly Epoch[]): readonly QueueEvent[] {
  return epochs.flatMap(({ events, rejected }) => events.filter((event) => !rejected.has(event)));
}

/**
 * Returns the earlier submission of an epoch whose commands equal these. The device must accept
 * both. Without one, keeps this submission for later ones, and returns undefined.
 */
export function equalBefore({ shared }: Epoch, submission: Submission): Submission | undefined {
  const { record } = submission;
  const first = record.effects[0];
  const known = first && shared.get(first);
  if (known?.record.equals(record)) return known;
  if (first) shared.set(first, submission);
  return undefined;
}

/** Returns the resources that the events of an epoch use. */
export function touchedBy({ touched, unfollowed }: Epoch): Set<GpuResource> {
  for (const { record } of unfollowed) record.forEachTouched((resource) => touched.add(resource));
  unfollowed.length = 0;
  return touched;
}

/** Returns the resources that an event writes. */
export function writtenBy(event: QueueEvent): Members<GpuResource> {
  return "record" in event ? event.record.written : new Set([event.target]);
}

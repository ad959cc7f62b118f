import { RangeSet } from "../webgpu/rangeSet.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import type { Trial } from "./checksumKernels.ts";
import type { Granules, ProtectedBuffer } from "./granules.ts";

/** What was added up of a buffer, in the slot of its number in the list. */
export interface PendingSum {
  readonly owner: ProtectedBuffer;
  /**
   * `"loaded"`: it has to be what was stored, `weight` times. `"stored"`: it is the buffer's
   * checksum from then on. `"begun"`: what the checksum exceeds it by stands in the checksum's
   * place, until a sum that `"ended"` is added to that.
   */
  readonly kind: "loaded" | "stored" | "begun" | "ended";
  /** Set where a sum that has begun need not be compared. */
  readonly isVerified?: boolean;
  readonly weight: number;
  /**
   * Set where a kernel may not have accessed each word as often: the count of places if it has, and
   * where to tell. Nobody relies on such a sum but the one that stands in for it.
   */
  readonly doubt?: { readonly places: number; readonly trial?: Trial | undefined };
  /**
   * The number of the sum in doubt that this one is made for, where that one is not of each word as
   * often.
   */
  readonly standsInFor?: number;
}

/**
 * What a command buffer knows of protected memory while it is recorded, and what has to happen
 * around it.
 */
export class MemoryState {
  /** Parts that were written since their check words were made. */
  readonly raw = new RangeSet();
  /** Parts that were verified and have not been written since. */
  readonly verified = new RangeSet();
  /**
   * What render passes read, and have no place to verify: that is done before the command buffer.
   */
  readonly drawn = new Set<GPUBuffer>();
  /** The arenas that its first and its latest commands use. */
  firstArena: GPUBuffer | undefined;
  arena: GPUBuffer | undefined;
  /**
   * Sums of which nothing has been made yet, in the order of what they were added up from; each has
   * a slot, by its number. Of some nothing is going to be made.
   */
  pending: (PendingSum | undefined)[] = [];
  /** What is to be verified together with what the next dispatch adds up. */
  waiting: Granules[] = [];

  /** Granules were written by what makes no check words. */
  wroteRaw(granules: BufferRange): void {
    this.verified.remove(granules);
    this.raw.add(granules);
  }
}

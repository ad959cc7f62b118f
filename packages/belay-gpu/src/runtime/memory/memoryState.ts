import { RangeSet } from "../webgpu/rangeSet.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import type { PendingSum } from "./checksums.ts";
import type { Granules } from "./granules.ts";

/** What a command buffer knows of protected memory while it is recorded, and what has to happen around it. */
export class MemoryState {
  /** Parts that were written since their check words were made. */
  readonly raw = new RangeSet();
  /** Parts that were verified and have not been written since. */
  readonly verified = new RangeSet();
  /** What render passes read, and have no place to verify: that is done before the command buffer. */
  readonly drawn = new Set<GPUBuffer>();
  /** The arenas that its first and its latest commands use. */
  firstArena: GPUBuffer | undefined;
  arena: GPUBuffer | undefined;
  /**
   * Sums of which nothing has been made yet, in the order of what they were added up from; each has a slot, by its number. Of
   * some nothing is going to be made.
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

import type { BufferRange } from "../webgpu/resources.ts";
import type { CheckWordEncoder, Site } from "./checkWordEncoder.ts";
import { bytesOf, type Granules } from "./granules.ts";
import type { MemoryState } from "./memoryState.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

/** A part of a buffer that a dispatch uses. */
export interface Use {
  readonly range: BufferRange;
  readonly stores: boolean;
  /** Whether the kernel itself verifies what it loads, and makes check words of what it stores. */
  readonly isChecked: boolean;
  /** Whether the kernel may turn out to store only some of what a pass after it adds up. */
  readonly mayLeaveWords: boolean;
}

/** As `Use`, of a buffer that has check words. */
export interface GuardedUse extends Omit<Use, "range"> {
  readonly granules: Granules;
  readonly range: BufferRange;
}

/**
 * Guards dispatches. A kernel that knows nothing of check words is verified by passes: the ranges
 * that it uses are verified before. The ranges that it may have stored to are encoded before
 * anything else relies on them, at the end of the command buffer at the latest. A range that it
 * uses again in between stays raw.
 */
export class DispatchGuard {
  readonly #buffers: ProtectedBuffers;
  readonly #words: CheckWordEncoder;

  constructor(buffers: ProtectedBuffers, words: CheckWordEncoder) {
    this.#buffers = buffers;
    this.#words = words;
  }

  /** Returns the uses that have to be guarded. */
  guarded(uses: readonly Use[]): readonly GuardedUse[] {
    return uses.flatMap((use) => {
      const granules = this.#buffers.granulesIn(use.range);
      return granules ? [{ ...use, granules, range: bytesOf(granules) }] : [];
    });
  }

  /** `canWait`: a pass after the dispatch may verify what that only loads. */
  before(site: Site, uses: readonly GuardedUse[], canWait: boolean): void {
    if (uses.some(({ isChecked }) => isChecked)) this.#words.arenaAt(site);
    const { raw, verified } = site.state;
    for (const { granules, range, isChecked, mayLeaveWords, stores } of uses) {
      if (mayLeaveWords) this.#words.ensureVerified(site, granules);
      else if (isChecked) this.#words.encodeRaw(site, granules);
      else if (!raw.has(range) && !verified.has(range))
        this.#words.ensureVerified(site, granules, canWait && !stores);
    }
  }

  after(state: MemoryState, uses: readonly GuardedUse[]): void {
    for (const { range, stores, isChecked } of uses) {
      if (!stores) continue;
      if (isChecked) state.verified.remove(range);
      else state.wroteRaw(range);
    }
  }
}

import type { BufferRange, GpuResource } from "../webgpu/resources.ts";
import type { CheckWordEncoder, EncodingPoint } from "./checkWordEncoder.ts";
import { bytesOf, type GranuleRange, type ProtectedBuffer } from "./granules.ts";
import type { MemoryState } from "./memoryState.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

/** A range of a buffer that a dispatch uses. */
export interface Use {
  readonly range: BufferRange;
  readonly stores: boolean;
  /** True if the kernel itself verifies its loads and computes check words of its stores. */
  readonly isChecked: boolean;
  /** True if the kernel may store only some of the words that a pass after it adds up. */
  readonly mayLeaveWords: boolean;
  /** True if the kernel computes check words from those before its stores. */
  readonly updatesChecks: boolean;
  /** True if data at rest needs no verification before the kernel. */
  readonly trustsRest: boolean;
}

/** A {@link Use} of a buffer that has check words. */
export interface GuardedUse extends Omit<Use, "range"> {
  readonly granules: GranuleRange;
  readonly range: BufferRange;
}

/**
 * Guards dispatches. Passes verify the memory of a kernel that has no checks of its own: they
 * verify the ranges that it uses before the dispatch. Ranges that it may have stored to are raw.
 * They are encoded before anything else relies on them, at the latest at the end of the command
 * buffer. A range that the kernel uses again in between stays raw.
 */
export class DispatchGuard {
  readonly #buffers: ProtectedBuffers;
  readonly #words: CheckWordEncoder;

  constructor(buffers: ProtectedBuffers, words: CheckWordEncoder) {
    this.#buffers = buffers;
    this.#words = words;
  }

  /** Returns the uses of buffers that have check words. */
  guarded(uses: readonly Use[]): readonly GuardedUse[] {
    const guarded: GuardedUse[] = [];
    for (const { range, ...use } of uses) {
      const granules = this.#buffers.granulesIn(range);
      if (granules) guarded.push({ ...use, granules, range: bytesOf(granules) });
    }
    return guarded;
  }

  /**
   * Encodes and verifies the used ranges before a dispatch. The dispatch probably overwrites the
   * buffers of `filled` completely, before any other use. Their earlier contents then matter to
   * nothing.
   */
  before(point: EncodingPoint, uses: readonly GuardedUse[], filled: ReadonlySet<GpuResource>): void {
    if (uses.some(({ isChecked }) => isChecked)) this.#words.arenaAt(point);
    const { raw, verified, overwritten, waiting, changed, trusted } = point.state;
    const isStored = (owner: ProtectedBuffer) =>
      uses.some(({ stores, granules }) => stores && granules.owner === owner);
    for (const { granules, range, isChecked, mayLeaveWords, updatesChecks, trustsRest } of uses) {
      if (filled.has(range.buffer) && !updatesChecks) overwritten.add(range.buffer);
      else if (trustsRest && !changed.has(range.buffer)) trusted.add(granules.owner);
      else if (isChecked && !mayLeaveWords) this.#words.encodeRaw(point, granules);
      else if (mayLeaveWords || (!raw.has(range) && !verified.has(range)))
        this.#words.ensureVerified(point, granules, true);
    }
    // One pass adds up all that the dispatch may change, together with all that waits.
    if (waiting.some(({ owner }) => isStored(owner))) this.#words.runWaiting(point);
  }

  after(state: MemoryState, uses: readonly GuardedUse[]): void {
    for (const { range, stores, isChecked } of uses) {
      if (!stores) continue;
      if (isChecked) state.wrote(range);
      else state.wroteRaw(range);
    }
  }
}

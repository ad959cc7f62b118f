import type { BufferRange, GpuResource } from "../webgpu/resources.ts";
import type { CheckWordEncoder, EncodingPoint } from "./checkWordEncoder.ts";
import { bytesOf, type GranuleRange } from "./granules.ts";
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
}

/** The known properties of a dispatch before its commands are submitted. */
export interface ExpectedDispatch {
  /** True if a pass after the dispatch may verify ranges that are only loaded. */
  readonly canWait: boolean;
  /**
   * The buffers that the dispatch probably overwrites completely, before any other use. Their
   * earlier contents then matter to nothing.
   */
  readonly filled: ReadonlySet<GpuResource>;
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
    return uses.flatMap((use) => {
      const granules = this.#buffers.granulesIn(use.range);
      return granules ? [{ ...use, granules, range: bytesOf(granules) }] : [];
    });
  }

  /** Encodes and verifies the used ranges before a dispatch. */
  before(point: EncodingPoint, uses: readonly GuardedUse[], { canWait, filled }: ExpectedDispatch): void {
    if (uses.some(({ isChecked }) => isChecked)) this.#words.arenaAt(point);
    const { raw, verified, overwritten } = point.state;
    for (const { granules, range, isChecked, mayLeaveWords, updatesChecks, stores } of uses) {
      if (filled.has(range.buffer) && !updatesChecks) overwritten.add(range.buffer);
      else if (mayLeaveWords) this.#words.ensureVerified(point, granules);
      else if (isChecked) this.#words.encodeRaw(point, granules);
      else if (!raw.has(range) && !verified.has(range))
        this.#words.ensureVerified(point, granules, canWait && !stores);
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

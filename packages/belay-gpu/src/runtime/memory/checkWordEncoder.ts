import { OwnKernel } from "../webgpu/ownKernel.ts";
import type { PassCommands } from "../webgpu/passCommands.ts";
import { type BufferRange, whole } from "../webgpu/resources.ts";
import { CARRY_OVER, MOVE, workgroupsFor } from "./checkKernels.ts";
import type { Constants } from "./constants.ts";
import { bytesOf, type GranuleRange, paddingAfter } from "./granules.ts";
import type { MemoryState } from "./memoryState.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

/** A point of a command buffer at which Belay can run kernels of its own. */
export interface EncodingPoint {
  readonly state: MemoryState;
  run(encode: (commands: PassCommands) => void): void;
}

/** An encoding point between passes, where ranges of buffers can also be cleared. */
interface ClearingPoint extends EncodingPoint {
  clear(range: BufferRange): void;
}

/** The kernels that compute and verify the check words of granules on the device. */
export interface CheckWordPasses {
  encode(point: EncodingPoint, granules: GranuleRange): void;
  /** Corrects granules that do not match their check words, or reports them as damaged. */
  verify(point: EncodingPoint, granules: GranuleRange): void;
  /**
   * Verifies granules of buffers that do not change before the next `runWaiting`. Passes that
   * correct verify at once, before a kernel loads the granules.
   */
  verifyLater(point: EncodingPoint, granules: GranuleRange): void;
  /** Computes the check words of granules that do not change before the next `runWaiting`. */
  encodeLater(point: EncodingPoint, granules: GranuleRange): void;
  runWaiting(point: EncodingPoint): void;
  /**
   * Verifies granules unless they are verified already, and replaces their check words by their
   * syndromes.
   */
  beginParts(point: EncodingPoint, granules: GranuleRange, isVerified: boolean): void;
  /** Replaces the syndromes of granules by check words of their current contents. */
  endParts(point: EncodingPoint, granules: GranuleRange): void;
  /**
   * Runs all that waits, and writes all pending check words. Call it before commands other than
   * these kernels use the check words.
   */
  settle(point: EncodingPoint): void;
}

/**
 * Computes and verifies check words within command buffers, and tracks which ones are up to date
 * there.
 */
export class CheckWordEncoder {
  readonly #buffers: ProtectedBuffers;
  readonly #constants: Constants;
  readonly #passes: CheckWordPasses;
  readonly #move: OwnKernel;
  readonly #carryOver: OwnKernel;
  /** True if the latest command buffer with compute passes had only one. */
  #expectsOnePass = false;

  constructor(
    device: GPUDevice,
    buffers: ProtectedBuffers,
    constants: Constants,
    makePasses: (arenaAt: (point: EncodingPoint) => GPUBuffer) => CheckWordPasses,
  ) {
    this.#buffers = buffers;
    this.#constants = constants;
    this.#passes = makePasses((point) => this.arenaAt(point));
    const own = (label: string, code: string, ...types: ("read-only-storage" | "storage")[]) =>
      new OwnKernel(device, { label: `belay: ${label}`, code, buffers: types });
    const [read, write] = ["read-only-storage", "storage"] as const;
    this.#move = own("move check words", MOVE, write, read);
    this.#carryOver = own("more check words", CARRY_OVER, read, write);
  }

  /**
   * Encodes the raw ranges that overlap the granules. Raw ranges were written after their check
   * words had been computed.
   */
  encodeRaw(point: EncodingPoint, granules: GranuleRange): void {
    const { raw } = point.state;
    if (raw.isEmpty) return;
    for (const range of raw.overlapping(bytesOf(granules))) {
      const written = this.#takeRaw(point, range);
      if (written) this.encode(point, written);
    }
  }

  /**
   * Encodes the verifications that wait, at the end of a compute pass. If the pass is probably the
   * last one, it also does what `finish` would do in a pass of its own.
   */
  endPass(point: EncodingPoint): void {
    const { state } = point;
    state.passes++;
    if (this.#expectsOnePass && state.passes === 1) this.#complete(point);
    else this.#passes.runWaiting(point);
  }

  /** Encodes all raw ranges and settles, at the end of a command buffer. */
  finish(point: EncodingPoint): void {
    const { passes } = point.state;
    if (passes > 0) this.#expectsOnePass = passes === 1;
    this.#complete(point);
  }

  #complete(point: EncodingPoint): void {
    for (const range of [...point.state.raw]) {
      const written = this.#takeRaw(point, range);
      if (written && written.count > 0) this.#passes.encodeLater(point, written);
    }
    this.#passes.settle(point);
  }

  /**
   * Returns the granules of a raw range, which counts as encoded from now on. A destroyed buffer
   * has no granules, and its commands will be rejected.
   */
  #takeRaw({ state }: EncodingPoint, range: BufferRange): GranuleRange | undefined {
    state.raw.remove(range);
    return this.#buffers.granulesIn(range);
  }

  /**
   * Verifies granules that are not verified yet: corrects them, or reports them as damaged. With
   * `canWait`, the verification may run later, until the next `runWaiting`.
   */
  ensureVerified(point: EncodingPoint, granules: GranuleRange, canWait = false): void {
    this.encodeRaw(point, granules);
    const { verified } = point.state;
    const range = bytesOf(granules);
    if (verified.has(range)) return;
    if (canWait) this.#verifyLater(point, granules);
    else this.verify(point, granules);
    verified.add(range);
  }

  /** Encodes all that waits. Call it before a buffer of it changes. */
  runWaiting(point: EncodingPoint): void {
    this.#passes.runWaiting(point);
  }

  /**
   * Verifies granules before parts of them are written. Until `endParts`, their syndromes replace
   * their check words, so a damaged granule does not get a matching check word.
   */
  beginParts(point: EncodingPoint, granules: GranuleRange): void {
    this.encodeRaw(point, granules);
    const range = bytesOf(granules);
    const isVerified = point.state.verified.has(range);
    if (!isVerified) this.#countVerified(point, granules);
    this.#passes.beginParts(point, granules, isVerified);
  }

  /**
   * Computes the check words of granules after parts of them were written. Damaged granules stay
   * damaged.
   */
  endParts(point: EncodingPoint, granules: GranuleRange): void {
    this.#passes.endParts(point, granules);
    this.wrote(point.state, granules);
  }

  /** Marks granules as not verified, after they were written together with their check words. */
  wrote(state: MemoryState, granules: GranuleRange): void {
    state.wrote(bytesOf(granules));
  }

  encode(point: EncodingPoint, granules: GranuleRange): void {
    if (granules.count > 0) this.#passes.encode(point, granules);
  }

  #verifyLater(point: EncodingPoint, granules: GranuleRange): void {
    this.#countVerified(point, granules);
    if (granules.count > 0) this.#passes.verifyLater(point, granules);
  }

  verify(point: EncodingPoint, granules: GranuleRange): void {
    this.#countVerified(point, granules);
    if (granules.count > 0) this.#passes.verify(point, granules);
  }

  #countVerified({ state }: EncodingPoint, granules: GranuleRange): void {
    granules.owner.counts.verifiedBytes += bytesOf(granules).size;
    state.verifies.add(granules.owner);
  }

  /**
   * Clears the padding after the granules, and its check words. Bit flips in padding need no code,
   * as its contents are always zero.
   */
  clearPadding(point: ClearingPoint, granules: GranuleRange): void {
    const padding = paddingAfter(granules);
    if (!padding) return;
    point.clear(padding.range);
    if (padding.granules.count > 0) point.clear(this.checksAt(point, padding.granules));
  }

  /** Copies the check words of granules to the same number of granules of another buffer. */
  move(point: EncodingPoint, from: GranuleRange, to: GranuleRange): void {
    if (to.count === 0) return;
    this.#passes.settle(point);
    const arena = this.arenaAt(point);
    const words = to.count * this.#buffers.checkWords;
    const span = this.#constants.of([from.owner.first + from.first, to.owner.first + to.first, words]);
    point.run((commands) => this.#move.encode(commands, [whole(arena), span], workgroupsFor(words)));
  }

  /**
   * Returns the range of the check words of granules, for commands that are recorded from now on.
   */
  checksAt(point: EncodingPoint, { owner, first, count }: GranuleRange): BufferRange {
    this.#passes.settle(point);
    return {
      buffer: this.arenaAt(point),
      offset: 4 * (owner.first + first),
      size: 4 * count * this.#buffers.checkWords,
    };
  }

  /**
   * Returns the arena for commands that are recorded from now on. If earlier commands of this
   * command buffer used an older arena, encodes a copy of its words into the current one.
   */
  arenaAt(point: EncodingPoint): GPUBuffer {
    const { state } = point;
    const { buffer } = this.#buffers.arena;
    const before = state.arena ?? buffer;
    state.firstArena ??= buffer;
    state.arena = buffer;
    if (before !== buffer) {
      const workgroups = workgroupsFor(before.size / 4);
      point.run((commands) => this.#carryOver.encode(commands, [whole(before), whole(buffer)], workgroups));
    }
    return buffer;
  }
}

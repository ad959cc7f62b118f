import { OwnKernel } from "../webgpu/ownKernel.ts";
import type { PassCommands } from "../webgpu/passCommands.ts";
import { type BufferRange, whole } from "../webgpu/resources.ts";
import { CARRY_OVER, MOVE, workgroupsFor } from "./checkKernels.ts";
import type { Constants } from "./constants.ts";
import { bytesOf, type Granules, paddingBehind } from "./granules.ts";
import type { MemoryState } from "./memoryState.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

/** Where in a command buffer kernels of Belay's own can run. */
export interface Site {
  readonly state: MemoryState;
  run(encode: (commands: PassCommands) => void): void;
}

/** A site between passes, where parts of buffers can be cleared. */
interface ClearingSite extends Site {
  clear(range: BufferRange): void;
}

/** How the checks of granules are made and verified on the device. */
export interface CheckWordPasses {
  encode(site: Site, granules: Granules): void;
  /** Corrects granules that do not fit their check words, or reports them as damaged. */
  verify(site: Site, granules: Granules): void;
  /**
   * Verifies granules, unless that is done, and leaves their syndromes in place of their checks.
   */
  beginParts(site: Site, granules: Granules, isVerified: boolean): void;
  /** Makes checks of the granules' contents and these syndromes. */
  endParts(site: Site, granules: Granules): void;
  /** Has the checks written that are still to be, before something else than passes uses them. */
  settle(site: Site): void;
}

/**
 * Makes and verifies check words on the device, within command buffers, and knows there which ones
 * are up to date.
 */
export class CheckWordEncoder {
  readonly #buffers: ProtectedBuffers;
  readonly #constants: Constants;
  readonly #passes: CheckWordPasses;
  readonly #move: OwnKernel;
  readonly #carryOver: OwnKernel;

  constructor(
    device: GPUDevice,
    buffers: ProtectedBuffers,
    constants: Constants,
    makePasses: (arenaAt: (site: Site) => GPUBuffer) => CheckWordPasses,
  ) {
    this.#buffers = buffers;
    this.#constants = constants;
    this.#passes = makePasses((site) => this.arenaAt(site));
    const own = (label: string, code: string, ...types: ("read-only-storage" | "storage")[]) =>
      new OwnKernel(device, { label: `belay: ${label}`, code, buffers: types });
    const [read, write] = ["read-only-storage", "storage"] as const;
    this.#move = own("move check words", MOVE, write, read);
    this.#carryOver = own("more check words", CARRY_OVER, read, write);
  }

  /**
   * Makes the check words of granules that were written since theirs were made, among these and
   * those written with them.
   */
  encodeRaw(site: Site, granules: Granules): void {
    const { raw } = site.state;
    if (raw.isEmpty) return;
    for (const range of raw.overlapping(bytesOf(granules))) {
      raw.remove(range);
      this.encode(site, this.#buffers.granulesIn(range)!);
    }
  }

  /** As `encodeRaw`, for all there are: nothing comes behind that. */
  finish(site: Site): void {
    for (const range of [...site.state.raw]) this.encodeRaw(site, this.#buffers.granulesIn(range)!);
    this.#passes.settle(site);
  }

  /**
   * Corrects granules that do not fit their check words, or reports them as damaged. `canWait`:
   * until what a dispatch adds up has been taken, which changes nothing of them.
   */
  ensureVerified(site: Site, granules: Granules, canWait = false): void {
    this.encodeRaw(site, granules);
    const { verified, waiting } = site.state;
    const range = bytesOf(granules);
    if (verified.has(range)) return;
    if (canWait) waiting.push(granules);
    else this.verify(site, granules);
    verified.add(range);
  }

  /**
   * Prepares granules for a write to parts of them, and verifies them. Until `endParts` their
   * syndromes stand in place of their check words, so that a damaged granule does not get a check
   * word that fits.
   */
  beginParts(site: Site, granules: Granules): void {
    this.encodeRaw(site, granules);
    const range = bytesOf(granules);
    const isVerified = site.state.verified.has(range);
    if (!isVerified) granules.owner.counts.verifiedBytes += range.size;
    this.#passes.beginParts(site, granules, isVerified);
  }

  /**
   * Makes the check words of granules once their parts are written; those that were damaged stay
   * damaged.
   */
  endParts(site: Site, granules: Granules): void {
    this.#passes.endParts(site, granules);
    this.wrote(site.state, granules);
  }

  /** Granules were written together with their check words. */
  wrote({ verified }: MemoryState, granules: Granules): void {
    verified.remove(bytesOf(granules));
  }

  encode(site: Site, granules: Granules): void {
    if (granules.count > 0) this.#passes.encode(site, granules);
  }

  verify(site: Site, granules: Granules): void {
    granules.owner.counts.verifiedBytes += bytesOf(granules).size;
    if (granules.count > 0) this.#passes.verify(site, granules);
  }

  /** Clears the padding behind granules: what flips there is put right without a code. */
  clearPadding(site: ClearingSite, granules: Granules): void {
    const padding = paddingBehind(granules);
    if (!padding) return;
    site.clear(padding.range);
    if (padding.granules.count > 0) site.clear(this.checksAt(site, padding.granules));
  }

  /**
   * Copies the check words of granules to as many of another buffer, from the one numbered `first`
   * on.
   */
  move(site: Site, from: Granules, to: Granules): void {
    if (to.count === 0) return;
    this.#passes.settle(site);
    const arena = this.arenaAt(site);
    const words = to.count * this.#buffers.checkWords;
    const span = this.#constants.of([from.owner.first + from.first, to.owner.first + to.first, words]);
    site.run((commands) => this.#move.encode(commands, [whole(arena), span], workgroupsFor(words)));
  }

  /** Where the check words of granules are, for commands recorded from now on. */
  checksAt(site: Site, { owner, first, count }: Granules): BufferRange {
    this.#passes.settle(site);
    return {
      buffer: this.arenaAt(site),
      offset: 4 * (owner.first + first),
      size: 4 * count * this.#buffers.checkWords,
    };
  }

  /**
   * The arena, for commands recorded from now on; what earlier ones did to an older arena is
   * carried over.
   */
  arenaAt(site: Site): GPUBuffer {
    const { state } = site;
    const { buffer } = this.#buffers.arena;
    const before = state.arena ?? buffer;
    state.firstArena ??= buffer;
    state.arena = buffer;
    if (before !== buffer) {
      const workgroups = workgroupsFor(before.size / 4);
      site.run((commands) => this.#carryOver.encode(commands, [whole(before), whole(buffer)], workgroups));
    }
    return buffer;
  }
}

import { mostSlots } from "../../codes/checksum.ts";
import { type ReportSlot, rangeOf } from "../context/reportArena.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import { OwnKernel } from "../webgpu/ownKernel.ts";
import { type BufferRange, whole } from "../webgpu/resources.ts";
import {
  bytesOfSlots,
  partsAtOnce,
  SETTLE,
  SUM,
  SUMMED_AT_ONCE,
  type SumPart,
  settleRecord,
  sumList,
} from "./checksumKernels.ts";
import type { CheckWordPasses, Site } from "./checkWordEncoder.ts";
import type { Constants } from "./constants.ts";
import type { Granules, ProtectedBuffer } from "./granules.ts";
import type { PendingSum } from "./memoryState.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

export interface ChecksumParts {
  readonly buffers: ProtectedBuffers;
  readonly constants: Constants;
  /** The report that findings are recorded in. */
  readonly slot: ReportSlot;
  /** The checksums, for commands recorded from now on. */
  readonly arenaAt: (site: Site) => GPUBuffer;
}

/**
 * The passes of checksums. Whatever adds up a buffer, one of these passes or a kernel of the
 * program's, leaves the sum in a slot; one workgroup later compares all sums with what had been
 * stored, or takes them for that, and empties the slots.
 */
export class Checksums implements CheckWordPasses {
  readonly #parts: ChecksumParts;
  readonly #sum: OwnKernel;
  readonly #settle: OwnKernel;
  readonly #slots: GPUBuffer;
  /** Bytes that can be bound at once, at an offset that every device accepts. */
  readonly #bindable: number;

  constructor(device: GPUDevice, parts: ChecksumParts) {
    this.#parts = parts;
    const [read, write] = ["read-only-storage", "storage"] as const;
    this.#sum = new OwnKernel(device, {
      label: "belay: sum",
      code: SUM,
      buffers: [write, read, ...Array<typeof read>(partsAtOnce).fill(read)],
    });
    this.#settle = new OwnKernel(device, {
      label: "belay: compare sums",
      code: SETTLE,
      buffers: [write, write, read, write],
    });
    this.#slots = device.createBuffer({
      label: "belay: sums",
      size: bytesOfSlots,
      usage: flags.bufferStorage,
    });
    this.#bindable = Math.floor(device.limits.maxStorageBufferBindingSize / 256) * 256;
  }

  /** All slots, as kernels bind them. */
  get slots(): BufferRange {
    return whole(this.#slots);
  }

  encode(site: Site, { owner }: Granules): void {
    this.#pass(site, [{ owner, kind: "stored", weight: 1 }]);
  }

  verify(site: Site, { owner }: Granules): void {
    this.#pass(site, [{ owner, kind: "loaded", weight: 1 }]);
  }

  beginParts(site: Site, { owner }: Granules, isVerified: boolean): void {
    this.#pass(site, [{ owner, kind: "begun", weight: 1, isVerified }]);
    this.settle(site);
  }

  endParts(site: Site, { owner }: Granules): void {
    this.#pass(site, [{ owner, kind: "ended", weight: 1 }]);
    this.settle(site);
  }

  /**
   * Takes what a dispatch has added up, for which there are slots. What is in doubt a pass adds up,
   * if that turns out to be needed: right now, as nothing has changed the buffer since, together
   * with what waits to be verified.
   */
  add(site: Site, sums: readonly (PendingSum | undefined)[]): void {
    const first = site.state.pending.push(...sums) - sums.length;
    const standIns = sums.flatMap((sum, i): PendingSum[] => {
      if (!sum?.doubt) return [];
      const { owner, kind } = sum;
      return [{ owner, kind, weight: 1, standsInFor: first + i }];
    });
    const others = site.state.waiting.map(({ owner }): PendingSum => {
      owner.counts.verifiedBytes += owner.granuleBytes;
      return { owner, kind: "loaded", weight: 1 };
    });
    site.state.waiting = [];
    const wanted = [...standIns, ...others];
    if (wanted.length > 0) this.#pass(site, wanted);
  }

  /** Adds up buffers, several at once. */
  #pass(site: Site, sums: readonly PendingSum[]): void {
    const { pending } = site.state;
    const slot = this.reserve(site, sums.length);
    const wanted = sums.flatMap(({ owner: { contents, granuleBytes }, standsInFor: number }, i) => {
      const doubt = number === undefined ? undefined : pending[number]?.doubt;
      const instead = doubt && { number: number!, places: doubt.places };
      const count = Math.ceil(granuleBytes / this.#bindable);
      return Array.from({ length: count }, (_, k) => {
        const offset = k * this.#bindable;
        const size = Math.min(this.#bindable, granuleBytes - offset);
        const part: SumPart = { slot: slot + i, quad: offset / 16, count: size / 16, instead };
        return { part, data: { buffer: contents, offset, size } };
      });
    });
    site.run((commands) => {
      for (let at = 0; at < wanted.length; at += partsAtOnce) {
        const together = wanted.slice(at, at + partsAtOnce);
        const list = this.#parts.constants.of(sumList(together.map(({ part }) => part)));
        const bound = Array.from({ length: partsAtOnce }, (_, i) => (together[i] ?? together[0]!).data);
        const groups = Math.max(...together.map(({ part }) => workgroupsFor(part)));
        this.#sum.encode(commands, [this.slots, list, ...bound], groups * together.length);
      }
    });
    site.state.pending.push(...sums);
  }

  /**
   * Makes sure that there are slots for so many sums more, which are going to be pending; returns
   * the number of the first.
   */
  reserve(site: Site, count: number): number {
    if (site.state.pending.length + count > mostSlots) this.settle(site);
    return site.state.pending.length;
  }

  settle(site: Site): void {
    const { pending } = site.state;
    if (pending.length === 0) return;
    site.state.pending = [];
    const { arenaAt, constants, slot } = this.#parts;
    const latest = new Map<ProtectedBuffer, number>();
    const references = pending.map((sum, i) => {
      const reference = sum && latest.get(sum.owner);
      if (sum && sum.kind !== "loaded" && !sum.doubt) latest.set(sum.owner, i);
      return reference;
    });
    const words = pending.flatMap((sum, i) => {
      if (!sum) return settleRecord({ checksum: 0, weight: 0, isCompared: false, kept: "nothing" });
      const { owner, kind, weight, doubt, isVerified, standsInFor: instead } = sum;
      return settleRecord({
        checksum: owner.first,
        weight,
        instead,
        reference: references[i],
        isCompared: (kind === "loaded" && !doubt) || (kind === "begun" && !isVerified),
        kept: latest.get(owner) === i ? keptOf[kind] : "nothing",
        ...(doubt ?? pending[instead ?? -1]?.doubt),
        trial: doubt?.trial,
      });
    });
    const list = constants.of([pending.length, ...words]);
    const arena = arenaAt(site);
    site.run((commands) => this.#settle.encode(commands, [whole(arena), this.slots, list, rangeOf(slot)], 1));
  }
}

const keptOf = { loaded: "nothing", stored: "sum", begun: "excess", ended: "total" } as const;

/** A part that is probably superfluous gets no more workgroups than fill a GPU. */
function workgroupsFor({ count, instead }: SumPart): number {
  return Math.min(instead ? 256 : 1024, Math.ceil(count / SUMMED_AT_ONCE));
}

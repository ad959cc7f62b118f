import { mostSlots } from "../../codes/checksum.ts";
import { flags } from "../nativeObjects.ts";
import { OwnKernel } from "../ownKernel.ts";
import { type ReportSlot, rangeOf } from "../reportArena.ts";
import { type BufferRange, whole } from "../resources.ts";
import { bytesOfSlots, SETTLE, SUM, SUMMED_AT_ONCE, settleRecord } from "./checksumKernels.ts";
import type { CodePasses, Site } from "./codeWords.ts";
import type { Constants } from "./constants.ts";
import type { Granules } from "./granules.ts";
import type { ProtectedBuffer, ProtectedBuffers } from "./protectedBuffers.ts";

/** What was added up of a buffer, in the slot of its number in the list. */
export interface PendingSum {
  readonly owner: ProtectedBuffer;
  /** `"loaded"`: it has to be what was stored, `weight` times. `"stored"`: it is the buffer's checksum from then on. */
  readonly kind: "loaded" | "stored";
  readonly weight: number;
  /**
   * Set where a kernel may not have accessed each word as often: the count of places if it has, and a cell of the report to tell
   * in. Nobody relies on such a sum but the one that stands in for it.
   */
  readonly doubt?: { readonly places: number; readonly cell?: number | undefined };
  /** The number of the sum in doubt that this one is made for, where that one is not of each word as often. */
  readonly standsInFor?: number;
}

export interface ChecksumParts {
  readonly buffers: ProtectedBuffers;
  readonly constants: Constants;
  /** The report that findings are recorded in. */
  readonly slot: ReportSlot;
  /** The checksums, for commands recorded from now on. */
  readonly arenaAt: (site: Site) => GPUBuffer;
}

/**
 * The passes of checksums. Whatever adds up a buffer, one of these passes or a kernel of the program's, leaves the sum in a slot;
 * one workgroup later compares all sums with what had been stored, or takes them for that, and empties the slots.
 */
export class Checksums implements CodePasses {
  readonly #parts: ChecksumParts;
  readonly #sum: OwnKernel;
  readonly #settle: OwnKernel;
  readonly #slots: GPUBuffer;
  /** Bytes that can be bound at once, at an offset that every device accepts. */
  readonly #bindable: number;

  constructor(device: GPUDevice, parts: ChecksumParts) {
    this.#parts = parts;
    const [read, write] = ["read-only-storage", "storage"] as const;
    this.#sum = new OwnKernel(device, { label: "belay: sum", code: SUM, buffers: [read, write, read] });
    this.#settle = new OwnKernel(device, {
      ...{ label: "belay: compare sums", code: SETTLE, buffers: [write, write, read, write] },
    });
    this.#slots = device.createBuffer({
      ...{ label: "belay: sums", size: bytesOfSlots, usage: flags.bufferStorage },
    });
    this.#bindable = Math.floor(device.limits.maxStorageBufferBindingSize / 256) * 256;
  }

  /** All slots, as kernels bind them. */
  get slots(): BufferRange {
    return whole(this.#slots);
  }

  encode(site: Site, { owner }: Granules): void {
    this.#pass(site, { owner, kind: "stored", weight: 1 });
  }

  verify(site: Site, { owner }: Granules): void {
    this.#pass(site, { owner, kind: "loaded", weight: 1 });
  }

  /**
   * Takes what a dispatch has added up, for which there are slots. What is in doubt a pass adds up, if that turns out to be needed:
   * right now, as nothing has changed the buffer since.
   */
  add(site: Site, sums: readonly (PendingSum | undefined)[]): void {
    const first = site.state.pending.push(...sums) - sums.length;
    for (const [i, sum] of sums.entries()) {
      if (!sum?.doubt) continue;
      const { owner, kind } = sum;
      this.#pass(site, { owner, kind, weight: 1, standsInFor: first + i });
    }
  }

  #pass(site: Site, sum: PendingSum): void {
    const { constants } = this.#parts;
    const slot = this.reserve(site, 1);
    const { contents, granuleBytes } = sum.owner;
    const instead = sum.standsInFor ?? -1;
    const { places = 0 } = site.state.pending[instead]?.doubt ?? {};
    site.run((commands) => {
      for (let offset = 0; offset < granuleBytes; offset += this.#bindable) {
        const size = Math.min(this.#bindable, granuleBytes - offset);
        const data = { buffer: contents, offset, size };
        const span = constants.of([slot, offset / 16, size / 16, instead + 1, places]);
        this.#sum.encode(
          commands,
          [data, this.slots, span],
          Math.min(1024, Math.ceil(size / 16 / SUMMED_AT_ONCE)),
        );
      }
    });
    site.state.pending.push(sum);
  }

  /** Makes sure that there are slots for so many sums more, which are going to be pending; returns the number of the first. */
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
      if (sum?.kind === "stored" && !sum.doubt) latest.set(sum.owner, i);
      return reference;
    });
    const words = pending.flatMap((sum, i) => {
      if (!sum) return settleRecord({ checksum: 0, weight: 0, isCompared: false, isKept: false });
      const { owner, kind, weight, doubt, standsInFor: instead } = sum;
      return settleRecord({
        ...{ checksum: owner.first, weight, instead, reference: references[i] },
        isCompared: kind === "loaded" && !doubt,
        isKept: latest.get(owner) === i,
        ...(doubt ?? pending[instead ?? -1]?.doubt),
        cell: doubt?.cell,
      });
    });
    const list = constants.of([pending.length, ...words]);
    const arena = arenaAt(site);
    site.run((commands) => this.#settle.encode(commands, [whole(arena), this.slots, list, rangeOf(slot)], 1));
  }
}

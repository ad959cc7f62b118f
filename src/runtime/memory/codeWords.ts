import type { MemoryScheme } from "../../codes/scheme.ts";
import { OwnKernel } from "../ownKernel.ts";
import type { PassCommands } from "../passCommands.ts";
import { type ReportSlot, rangeOf } from "../reportArena.ts";
import type { BufferRange } from "../resources.ts";
import { CARRY_OVER, encodeKernel, GRANULES_PER_WORKGROUP, MOVE, verifyKernel } from "./checkKernels.ts";
import { Constants } from "./constants.ts";
import type { MemoryState } from "./memoryState.ts";
import type { Granules, ProtectedBuffers } from "./protectedBuffers.ts";

/** Where in a command buffer kernels of Belay's own can run. */
export interface Site {
  readonly state: MemoryState;
  run(encode: (commands: PassCommands) => void): void;
}

/** Enough workgroups to fill a GPU; the invocations loop over what is beyond. */
const MAX_WORKGROUPS = 16_384;

/** Makes and verifies check words on the device, within command buffers, and knows there which ones are up to date. */
export class CodeWords {
  readonly constants: Constants;
  readonly #buffers: ProtectedBuffers;
  readonly #slot: ReportSlot;
  readonly #encode: OwnKernel;
  readonly #verify: OwnKernel;
  readonly #move: OwnKernel;
  readonly #carryOver: OwnKernel;
  /** Granules that can be bound at once: a multiple of 256, as every device accepts offsets of 256 bytes. */
  readonly #bindable: number;

  /** `slot`: the report that findings are recorded in. */
  constructor(device: GPUDevice, scheme: MemoryScheme, buffers: ProtectedBuffers, slot: ReportSlot) {
    this.#buffers = buffers;
    this.#slot = slot;
    this.constants = new Constants(device);
    const own = (label: string, code: string, ...types: ("read-only-storage" | "storage")[]) =>
      new OwnKernel(device, { label: `belay: ${label}`, code, buffers: types });
    const [read, write] = ["read-only-storage", "storage"] as const;
    this.#encode = own("encode", encodeKernel(scheme), read, write, read);
    this.#verify = own("verify", verifyKernel(scheme), write, write, read, write);
    this.#move = own("move check words", MOVE, write, read);
    this.#carryOver = own("more check words", CARRY_OVER, read, write);
    this.#bindable = Math.floor(device.limits.maxStorageBufferBindingSize / scheme.granuleBytes / 256) * 256;
  }

  /** Makes the check words of granules that were written since theirs were made, among these and those written with them. */
  encodeRaw(site: Site, granules: Granules): void {
    const { raw } = site.state;
    if (raw.isEmpty) return;
    for (const range of raw.overlapping(this.#buffers.bytesOf(granules))) {
      raw.remove(range);
      this.encode(site, this.#buffers.granulesIn(range)!);
    }
  }

  /** As `encodeRaw`, for all there are. */
  encodeAllRaw(site: Site): void {
    for (const range of [...site.state.raw]) this.encodeRaw(site, this.#buffers.granulesIn(range)!);
  }

  /** Corrects granules that do not fit their check words, or reports them as damaged. */
  ensureVerified(site: Site, granules: Granules): void {
    this.encodeRaw(site, granules);
    const { verified } = site.state;
    const range = this.#buffers.bytesOf(granules);
    if (verified.has(range)) return;
    this.verify(site, granules);
    verified.add(range);
  }

  /** Granules were written together with their check words. */
  wrote({ verified }: MemoryState, granules: Granules): void {
    verified.remove(this.#buffers.bytesOf(granules));
  }

  encode(site: Site, granules: Granules): void {
    this.#overData(site, this.#encode, granules, []);
  }

  verify(site: Site, granules: Granules): void {
    granules.owner.counts.verifiedBytes += this.#buffers.bytesOf(granules).size;
    this.#overData(site, this.#verify, granules, [rangeOf(this.#slot)]);
  }

  /** Copies the check words of granules to as many of another buffer, from the one numbered `first` on. */
  move(site: Site, from: Granules, to: Granules): void {
    if (to.count === 0) return;
    const arena = this.arenaAt(site);
    const span = this.constants.of([from.owner.first + from.first, to.owner.first + to.first, to.count]);
    site.run((commands) => this.#move.encode(commands, [whole(arena), span], workgroupsFor(to.count)));
  }

  /** Where the check words of granules are, for commands recorded from now on. */
  checksAt(site: Site, { owner, first, count }: Granules): BufferRange {
    return { buffer: this.arenaAt(site), offset: 4 * (owner.first + first), size: 4 * count };
  }

  /** The arena, for commands recorded from now on; what earlier ones did to an older arena is carried over. */
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

  #overData(
    site: Site,
    kernel: OwnKernel,
    { owner: { contents, granules, first: base }, first, count }: Granules,
    more: readonly BufferRange[],
  ): void {
    if (count === 0) return;
    const { granuleBytes } = this.#buffers;
    const arena = this.arenaAt(site);
    site.run((commands) => {
      for (let at = first; at < first + count; ) {
        const start = at - (at % this.#bindable);
        const end = Math.min(first + count, start + this.#bindable);
        const bound = Math.min(this.#bindable, granules - start);
        const data = { buffer: contents, offset: start * granuleBytes, size: bound * granuleBytes };
        const span = this.constants.of([at - start, base + at, end - at]);
        kernel.encode(commands, [data, whole(arena), span, ...more], workgroupsFor(end - at));
        at = end;
      }
    });
  }
}

function whole(buffer: GPUBuffer): BufferRange {
  return { buffer, offset: 0, size: buffer.size };
}

function workgroupsFor(count: number): number {
  return Math.min(MAX_WORKGROUPS, Math.ceil(count / GRANULES_PER_WORKGROUP));
}

import { mostSlots } from "../../ecc/checksum.ts";
import { type ReportSlot, rangeOf } from "../context/reportArena.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import { OwnKernel } from "../webgpu/ownKernel.ts";
import { type BufferRange, whole } from "../webgpu/resources.ts";
import {
  byteOfIgnoring,
  bytesOfSlots,
  bytesOfSmallPart,
  partsAtOnce,
  SETTLE,
  type SettleRecord,
  SUM,
  SUMMED_AT_ONCE,
  type SumPart,
  settleList,
  smallPartsAtOnce,
  sumList,
} from "./checksumKernels.ts";
import type { CheckWordPasses, EncodingPoint } from "./checkWordEncoder.ts";
import type { Constants } from "./constants.ts";
import type { GranuleRange, ProtectedBuffer } from "./granules.ts";
import type { EncoderPoint } from "./memoryCommands.ts";
import { type MemoryState, type PendingSum, plainSum } from "./memoryState.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

/** The most sums that wait: few enough for the slots of one dispatch to remain. */
const mostWaiting = mostSlots / 4;
/** The most bind groups of comparisons that are kept. */
const mostComparisons = 256;

export interface ChecksumParts {
  readonly buffers: ProtectedBuffers;
  readonly constants: Constants;
  /** The report in which errors are recorded. */
  readonly slot: ReportSlot;
  /** Returns the arena of checksums, for commands that are recorded from now on. */
  readonly arenaAt: (point: EncodingPoint) => GPUBuffer;
}

/**
 * The passes of checksums. A pass, or a kernel of the program, adds up a buffer and leaves the sum
 * in a slot. Later, one workgroup compares all sums with the stored checksums, or stores them as
 * new checksums, and clears the slots.
 */
export class Checksums implements CheckWordPasses {
  /** All slots, as one range that kernels bind. */
  readonly slots: BufferRange;
  readonly #parts: ChecksumParts;
  readonly #sum: OwnKernel;
  readonly #settle: OwnKernel;
  /** The bind groups of comparisons by the numbers of their sums, with one arena. */
  #comparisons = { arena: undefined as GPUBuffer | undefined, groups: new Map<string, GPUBindGroup>() };
  /** The most bytes of one binding: a multiple of 256, which every device accepts as an offset. */
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
      buffers: [write, write, read, write, ...Array<typeof read>(smallPartsAtOnce).fill(read)],
    });
    // Each program needs both.
    this.#sum.begin();
    this.#settle.begin();
    this.slots = whole(
      device.createBuffer({
        label: "belay: sums",
        size: bytesOfSlots,
        usage: flags.bufferStorage | flags.bufferCopyDst,
      }),
    );
    this.#bindable = Math.floor(device.limits.maxStorageBufferBindingSize / 256) * 256;
  }

  /** Makes the device ignore the sums of commands that are encoded after this point, or not. */
  ignore(point: EncoderPoint, isIgnored: boolean): void {
    point.copy(this.#parts.constants.of([Number(isIgnored)]), this.slots.buffer, byteOfIgnoring);
  }

  encode(point: EncodingPoint, { owner }: GranuleRange): void {
    this.#pass(point, [plainSum(owner, "stored")]);
  }

  verify(point: EncodingPoint, { owner }: GranuleRange): void {
    this.#pass(point, [plainSum(owner, "loaded")]);
  }

  /**
   * Lets the verification wait. Sums correct nothing, so they find the same damage after the loads
   * of kernels. One dispatch then adds up several buffers.
   */
  verifyLater(point: EncodingPoint, { owner }: GranuleRange): void {
    this.#wait(point, plainSum(owner, "loaded"));
  }

  encodeLater(point: EncodingPoint, { owner }: GranuleRange): void {
    this.#wait(point, plainSum(owner, "stored"));
  }

  #wait(point: EncodingPoint, sum: PendingSum): void {
    const { waiting } = point.state;
    waiting.push(sum);
    if (waiting.length === mostWaiting) this.runWaiting(point);
  }

  runWaiting(point: EncodingPoint): void {
    const sums = takeWaiting(point.state);
    if (sums.length > 0) this.#pass(point, sums);
  }

  beginParts(point: EncodingPoint, { owner }: GranuleRange, isVerified: boolean): void {
    this.#pass(point, [{ owner, kind: "begun", weight: 1, isVerified }]);
    this.settle(point);
  }

  endParts(point: EncodingPoint, { owner }: GranuleRange): void {
    this.#pass(point, [{ owner, kind: "ended", weight: 1 }]);
    this.settle(point);
  }

  /**
   * Takes over the sums of a dispatch, which already have slots. Sums in doubt get a stand-in: a
   * pass that adds up the buffer again. The pass runs at once, before the buffer changes, together
   * with the sums that wait.
   */
  add(point: EncodingPoint, sums: readonly (PendingSum | undefined)[]): void {
    const first = point.state.pending.push(...sums) - sums.length;
    const standIns = sums.flatMap((sum, i): PendingSum[] => {
      if (!sum?.doubt) return [];
      const { owner, kind } = sum;
      return [{ owner, kind, weight: 1, standsInFor: first + i }];
    });
    if (standIns.length > 0) this.#pass(point, [...standIns, ...takeWaiting(point.state)]);
  }

  /** Encodes a pass that adds up several buffers. */
  #pass(point: EncodingPoint, sums: readonly PendingSum[]): void {
    const { pending } = point.state;
    const slot = this.reserve(point, sums.length);
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
    point.run((commands) => {
      for (let at = 0; at < wanted.length; at += partsAtOnce) {
        const together = wanted.slice(at, at + partsAtOnce);
        const list = this.#parts.constants.of(sumList(together.map(({ part }) => part)));
        const bound = Array.from({ length: partsAtOnce }, (_, i) => (together[i] ?? together[0]!).data);
        const groups = Math.max(...together.map(({ part }) => workgroupsFor(part)));
        this.#sum.encode(commands, [this.slots, list, ...bound], groups * together.length);
      }
    });
    point.state.pending.push(...sums);
  }

  /**
   * Makes sure that there are slots for this many more sums, and returns the index of the first.
   */
  reserve(point: EncodingPoint, count: number): number {
    if (point.state.pending.length + count > mostSlots) this.settle(point);
    return point.state.pending.length;
  }

  /** Compares all sums. Adds up small buffers that wait, without a dispatch of their own. */
  settle(point: EncodingPoint): void {
    const small = takeSmall(point.state);
    this.runWaiting(point);
    this.reserve(point, small.length);
    const sums = [...point.state.pending, ...small];
    if (sums.length === 0) return;
    point.state.pending = [];
    const group = this.#comparisonOf(sums, small, this.#parts.arenaAt(point));
    point.run((commands) => this.#settle.dispatch(commands, group, 1));
  }

  /** Returns the bind group that compares sums, of which the last ones are of small buffers. */
  #comparisonOf(
    sums: readonly (PendingSum | undefined)[],
    small: readonly PendingSum[],
    arena: GPUBuffer,
  ): GPUBindGroup {
    if (this.#comparisons.arena !== arena) this.#comparisons = { arena, groups: new Map() };
    const { groups } = this.#comparisons;
    const isRepeatable = sums.every((sum) => !sum || sum.id !== undefined);
    const key = isRepeatable ? `${small.length} ${sums.map((sum) => sum?.id).join(" ")}` : "";
    const known = groups.get(key);
    if (known) return known;
    const data = small.map(({ owner: { contents, granuleBytes: size } }) => {
      return { buffer: contents, offset: 0, size };
    });
    const quads = data.map(({ size }) => size / 16);
    const list = this.#parts.constants.of(settleList(recordsOf(sums), quads));
    const bound = Array.from({ length: smallPartsAtOnce }, (_, i) => data[i] ?? list);
    const group = this.#settle.bind([whole(arena), this.slots, list, rangeOf(this.#parts.slot), ...bound]);
    if (isRepeatable) {
      if (groups.size === mostComparisons) groups.clear();
      groups.set(key, group);
    }
    return group;
  }
}

/** Returns what to do with sums. */
function recordsOf(sums: readonly (PendingSum | undefined)[]): SettleRecord[] {
  const latest = new Map<ProtectedBuffer, number>();
  const references = sums.map((sum, i) => {
    const reference = sum && latest.get(sum.owner);
    if (sum && sum.kind !== "loaded" && !sum.doubt) latest.set(sum.owner, i);
    return reference;
  });
  return sums.map((sum, i) => {
    if (!sum) return { checksum: 0, weight: 0, isCompared: false, kept: "nothing" };
    const { owner, kind, weight, doubt, isVerified, places, standsInFor: instead } = sum;
    return {
      checksum: owner.first,
      weight,
      instead,
      reference: references[i],
      isCompared: (kind === "loaded" && !doubt) || (kind === "begun" && !isVerified),
      kept: latest.get(owner) === i ? keptOf[kind] : "nothing",
      places,
      ...(doubt ?? sums[instead ?? -1]?.doubt),
      trial: doubt?.trial,
    };
  });
}

/** Removes small buffers that wait, as many as a comparison adds up, and returns them. */
function takeSmall(state: MemoryState): PendingSum[] {
  const small: PendingSum[] = [];
  const isTaken = (sum: PendingSum) =>
    small.length < smallPartsAtOnce && sum.owner.granuleBytes <= bytesOfSmallPart;
  for (const sum of state.waiting.splice(0)) (isTaken(sum) ? small : state.waiting).push(sum);
  return small;
}

/** Returns the sums that wait. None of them waits any longer. */
const takeWaiting = (state: MemoryState): PendingSum[] => state.waiting.splice(0);

const keptOf = { loaded: "nothing", stored: "sum", begun: "excess", ended: "total" } as const;

/**
 * Returns the number of workgroups for one range. A range that is probably superfluous gets only
 * enough of them to fill a GPU.
 */
function workgroupsFor({ count, instead }: SumPart): number {
  return Math.min(instead ? 256 : 1024, Math.ceil(count / SUMMED_AT_ONCE));
}

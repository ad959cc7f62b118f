import { hostCodeOf, schemeOf } from "../../codes/scheme.ts";
import { type MemoryCode, reportWords, tableRow } from "../../compiler/contract.ts";
import type { ReportArena, ReportSlot } from "../context/reportArena.ts";
import { type BufferRange, isTexture, type Resource } from "../webgpu/resources.ts";
import { Bracketing } from "./bracketing.ts";
import { trialCells } from "./checksumKernels.ts";
import { Checksums } from "./checksums.ts";
import { CodeWords, type Site } from "./codeWords.ts";
import { Constants } from "./constants.ts";
import { EncoderSite, type RecordedCommands } from "./encoderSite.ts";
import { GranulePasses } from "./granulePasses.ts";
import { allOf, bytesOf, type ProtectedBuffer } from "./granules.ts";
import { GuardedTransfers } from "./guardedTransfers.ts";
import { HostWrites } from "./hostWrites.ts";
import { type DispatchSums, KernelSums } from "./kernelSums.ts";
import { Mappings } from "./mappings.ts";
import { MemoryCommands } from "./memoryCommands.ts";
import { type Damaged, type MemoryListeners, MemoryLog } from "./memoryLog.ts";
import type { MemoryState } from "./memoryState.ts";
import { ProtectedBuffers } from "./protectedBuffers.ts";
import { describeUnprotected, UnprotectedBufferError } from "./unprotectedBuffer.ts";

/** How the memory of a device is protected, and who is told of it. */
export interface MemoryOptions extends MemoryListeners {
  readonly scheme: MemoryCode;
  /** How often data that arrives damaged on the host is sent again. */
  readonly retries: number;
  /** Whether damaged data is refused. */
  readonly refuses: boolean;
  /** Whether every buffer has to have check words. */
  readonly strict: boolean;
  /** Called when the host has replaced a part of a buffer that it had mapped. */
  onMappedWrite(range: BufferRange): void;
}

/** The protected memory of a device: a check word for every granule of every buffer. */
export class Memory {
  readonly buffers: ProtectedBuffers;
  readonly log: MemoryLog;
  readonly words: CodeWords;
  readonly commands: MemoryCommands;
  readonly transfers: GuardedTransfers;
  readonly bracketing: Bracketing;
  readonly writes: HostWrites;
  /** The report of Belay's own kernels. */
  readonly slot: ReportSlot;
  /** What kernels add up, where memory has checksums. */
  readonly sums: KernelSums;
  readonly #checksums: Checksums | undefined;
  readonly #constants: Constants;
  readonly #options: MemoryOptions;
  readonly #mappings: Mappings;
  /** Damaged contents whose check words fit, by where they begin. */
  readonly #accepted = new WeakMap<GPUBuffer, Map<number, BufferRange>>();

  constructor(device: GPUDevice, reports: ReportArena, options: MemoryOptions) {
    const scheme = hostCodeOf(options.scheme);
    const isChecksum = options.scheme === "checksum";
    this.#options = options;
    const cells = isChecksum ? trialCells : 0;
    this.slot = reports.allocate({ bytes: 4 * (reportWords.total + cells), cells });
    const buffers = new ProtectedBuffers(device, scheme);
    const constants = new Constants(device);
    const log = new MemoryLog(options.scheme, buffers, constants, options);
    let checksums: Checksums | undefined;
    const words = new CodeWords(device, buffers, constants, (arenaAt) => {
      const parts = { buffers, constants, slot: this.slot, arenaAt };
      if (!isChecksum) return new GranulePasses(device, { ...parts, scheme: schemeOf(options.scheme) });
      checksums = new Checksums(device, parts);
      return checksums;
    });
    this.sums = new KernelSums(buffers);
    this.#checksums = checksums;
    this.#constants = constants;
    const transfers = new GuardedTransfers(buffers, words);
    this.commands = new MemoryCommands(device, buffers, words);
    const submit = (encode: (site: EncoderSite) => void) => this.commands.submit(encode);
    this.writes = new HostWrites({ queue: device.queue, scheme, buffers, words, transfers, submit });
    this.#mappings = new Mappings({
      ...{ scheme, buffers, retries: options.retries, refuses: options.refuses },
      send: (owner) =>
        submit((site) => {
          words.ensureVerified(site, allOf(owner));
          transfers.flush(site, allOf(owner));
        }),
      replaced: options.onMappedWrite,
      initialize: (owner, bytes, checks) => this.writes.initialize(owner, bytes, checks),
      corrected: (owner, count) => log.correctedOnHost(owner, count),
      damaged: (owner, granules, outcome) => log.damagedOnHost(owner, granules, outcome),
    });
    this.bracketing = new Bracketing(buffers, words);
    this.buffers = buffers;
    this.log = log;
    this.words = words;
    this.transfers = transfers;
  }

  /** Gives a buffer that was just made its check words. Throws in strict mode where it can have none. */
  protect(buffer: GPUBuffer, { mappedAtCreation = false }: GPUBufferDescriptor, isAllocated: boolean): void {
    const owner = this.buffers.protect(buffer, isAllocated);
    if (typeof owner === "string") {
      const unprotected = describeUnprotected(buffer, owner);
      if (this.#options.strict) throw new UnprotectedBufferError(unprotected);
      this.log.unprotected.push(unprotected);
    } else if (owner && (owner.mapped || mappedAtCreation)) {
      this.#mappings.cover(owner, mappedAtCreation);
    }
  }

  /** Verifies what is mapped now of a buffer, before the program gets at it; rejects when it is not to be released. */
  async arrived(buffer: GPUBuffer): Promise<void> {
    await this.#mappings.arrived(buffer);
  }

  /** Whether a part of a buffer has check words of its own from its first byte on. */
  hasChecksFrom({ buffer, offset }: BufferRange): boolean {
    const owner = this.buffers.of(buffer);
    return owner !== undefined && offset % owner.granuleBytes === 0;
  }

  /** Where commands of an encoder can be added; `native` has its original methods. */
  siteIn(encoder: GPUCommandEncoder, native: GPUCommandEncoder, record: RecordedCommands): EncoderSite {
    return new EncoderSite(encoder, native, record);
  }

  /** Where the check words of a buffer are now. */
  checksOf(buffer: GPUBuffer): BufferRange | undefined {
    const owner = this.buffers.of(buffer);
    const size = owner && this.buffers.checksOf(owner).size;
    return owner && { buffer: this.buffers.arena.buffer, offset: 4 * owner.first, size: size! };
  }

  /** Has a part of a buffer verified that something other than a kernel reads. */
  verifyIn(site: Site, range: BufferRange): void {
    const granules = this.buffers.granulesIn(range);
    if (granules) this.words.ensureVerified(site, granules);
  }

  /** Commands that make no check words may have written any part of a buffer. */
  wroteAnywhere(state: MemoryState, buffer: GPUBuffer): void {
    const owner = this.buffers.of(buffer);
    if (owner) state.wroteRaw(bytesOf(allOf(owner)));
  }

  /** All check words, as kernels bind them. */
  get arena(): BufferRange {
    const { buffer } = this.buffers.arena;
    return { buffer, offset: 0, size: buffer.size };
  }

  /** The table that tells a kernel where the check words of its bindings are; each of these has some. */
  table(
    rows: readonly { readonly index: number; readonly range: BufferRange }[],
    bytes: number,
  ): BufferRange {
    const words = new Array<number>(bytes / 4).fill(0);
    for (const { index, range } of rows) {
      const { owner, first } = this.buffers.granulesIn(range)!;
      words[index * tableRow.stride + tableRow.base] = owner.first + first;
      words[index * tableRow.stride + tableRow.bytes] = range.size;
    }
    return this.#constants.of(words);
  }

  /** The table that tells a kernel its first slot, and all slots. */
  slotsFrom(first: number, bytes: number) {
    const words = new Array<number>(bytes / 4).fill(0);
    words[tableRow.base] = first;
    return { table: this.#constants.of(words), slots: this.#checksums!.slots };
  }

  /** Gives a dispatch its slots, of which it returns the first; what it adds up is to be `added` right behind it. */
  reserve(site: Site, sums: DispatchSums): number {
    const wanted = [...sums.values()].reduce((count, sum) => count + (sum?.doubt ? 2 : 1), 0);
    return this.#checksums!.reserve(site, wanted + site.state.waiting.length);
  }

  added(site: Site, sums: DispatchSums): void {
    this.#checksums!.add(site, [...sums.values()]);
  }

  /** Reads the report of Belay's own kernels. */
  read(words: Uint32Array): Damaged {
    this.sums.read(words.subarray(reportWords.total));
    return this.log.read(words);
  }

  /** Flips bits of a buffer's memory on the host when it is mapped next; false for one that is never mapped. */
  flipMapped(buffer: GPUBuffer, byteOffset: number, mask: number): boolean {
    const owner = this.buffers.of(buffer);
    if (!owner?.mapped) return false;
    this.#mappings.flips.add(owner, { byteOffset, mask });
    return true;
  }

  /** The buffers among resources that have check words. */
  ownersOf(resources: Iterable<Resource>): readonly ProtectedBuffer[] {
    return [...resources].flatMap((each) => (isTexture(each) ? [] : (this.buffers.of(each) ?? [])));
  }

  /**
   * Makes check words that fit damaged contents, once these are known to be wrong and refused. A
   * later write to a part of them is then not taken for more damage.
   */
  accept(places: Iterable<BufferRange>): void {
    const damaged = [...places].flatMap((place) => this.buffers.granulesIn(place) ?? []);
    if (damaged.length === 0) return;
    for (const granules of damaged) {
      const { buffer, offset, size } = bytesOf(granules);
      const accepted = this.#accepted.get(buffer) ?? new Map<number, BufferRange>();
      this.#accepted.set(buffer, accepted.set(offset, { buffer, offset, size }));
    }
    this.commands.submit((site) => {
      for (const granules of damaged) this.words.encode(site, granules);
    });
  }

  /**
   * Returns the damaged contents that were accepted, and are still wrong by what a function tells
   * of a place.
   */
  damaged(isWrong: (place: BufferRange) => boolean): readonly BufferRange[] {
    return [...this.buffers].flatMap(({ buffer }) => {
      const accepted = [...(this.#accepted.get(buffer) ?? [])].filter(([, place]) => isWrong(place));
      if (accepted.length === 0) this.#accepted.delete(buffer);
      else this.#accepted.set(buffer, new Map(accepted));
      return accepted.map(([, place]) => place);
    });
  }

  /** Submits the verification of buffers; by default, of all that the device keeps. */
  scrub(owners: Iterable<ProtectedBuffer> = this.buffers): void {
    const kept = [...owners].filter(({ mapped }) => mapped !== "write");
    if (kept.length === 0) return;
    this.log.scrubs++;
    this.commands.submit((site) => {
      for (const owner of kept) {
        this.words.clearPadding(site, allOf(owner));
        this.words.verify(site, allOf(owner));
      }
    });
  }
}

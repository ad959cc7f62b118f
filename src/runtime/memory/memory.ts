import { type MemoryScheme, schemes } from "../../codes/scheme.ts";
import { reportWords, type SchemeName, tableRow } from "../../compiler/contract.ts";
import type { CommandRecord } from "../commandRecord.ts";
import type { ReportArena, ReportSlot } from "../reportArena.ts";
import type { BufferRange } from "../resources.ts";
import { Bracketing } from "./bracketing.ts";
import { CodeWords, type Site } from "./codeWords.ts";
import { EncoderSite } from "./encoderSite.ts";
import { GuardedTransfers } from "./guardedTransfers.ts";
import { HostWrites } from "./hostWrites.ts";
import { Mappings } from "./mappings.ts";
import { BelayMemoryError, type Correction, type MemoryError, type MemoryFault } from "./memoryFault.ts";
import { type MemoryFindings, memoryFindings } from "./memoryFindings.ts";
import { MemoryState } from "./memoryState.ts";
import { type Granules, type ProtectedBuffer, ProtectedBuffers } from "./protectedBuffers.ts";
import { describeUnprotected, type UnprotectedBuffer, UnprotectedBufferError } from "./unprotectedBuffer.ts";

/** How the memory of a device is protected, and who is told of it. */
export interface MemoryOptions {
  readonly scheme: SchemeName;
  /** How often data that arrives damaged on the host is sent again. */
  readonly retries: number;
  /** Whether damaged data is refused. */
  readonly refuses: boolean;
  /** Whether every buffer has to have check words. */
  readonly strict: boolean;
  onCorrected(correction: Correction): void;
  onFault(fault: MemoryFault): void;
}

/** A damaged granule, and the buffer that it is in, while that exists. */
export interface Damage {
  readonly error: MemoryError;
  readonly owner: ProtectedBuffer | undefined;
}

/** Damaged granules that a report tells of: how many, and the first ones. */
export interface Damaged {
  readonly count: number;
  readonly damage: readonly Damage[];
}

/** As `Damaged`, by a kernel, and all buffers in which it may have found errors. */
export interface KernelDamaged extends Damaged {
  readonly owners: ReadonlySet<ProtectedBuffer>;
}

/** What protected memory takes, and what was found in it. */
export interface MemoryReport {
  readonly scheme: SchemeName;
  /** Bytes of GPU memory for check words, and for mirrors of buffers that can be mapped. */
  readonly held: number;
  /** Corrected errors, and granules with more than the code corrects each time that one was found. */
  readonly corrected: number;
  readonly uncorrectable: number;
  /** Loads that kernels corrected; the granules count as corrected when they are put right in memory. */
  readonly correctedLoads: number;
  /** How often memory was scrubbed. */
  readonly scrubs: number;
  /** The buffers that exist. */
  readonly buffers: readonly ProtectedBufferReport[];
  /** Buffers that could be given no check words. */
  readonly unprotected: readonly UnprotectedBuffer[];
}

export interface ProtectedBufferReport {
  readonly label: string;
  readonly size: number;
  readonly corrected: number;
  readonly uncorrectable: number;
  /** Bytes that were verified other than in the program's kernels. */
  readonly verifiedBytes: number;
}

/** The protected memory of a device: a check word for every granule of every buffer. */
export class Memory {
  readonly buffers: ProtectedBuffers;
  readonly words: CodeWords;
  readonly transfers: GuardedTransfers;
  readonly bracketing: Bracketing;
  readonly writes: HostWrites;
  /** The report of Belay's own kernels. */
  readonly slot: ReportSlot;
  readonly #device: GPUDevice;
  readonly #scheme: MemoryScheme;
  readonly #options: MemoryOptions;
  readonly #mappings: Mappings;
  readonly #unprotected: UnprotectedBuffer[] = [];
  readonly #reasons = new WeakMap<GPUBuffer, UnprotectedBuffer>();
  readonly #arrivals = new WeakMap<GPUBuffer, () => Promise<void>>();
  #corrected = 0;
  #uncorrectable = 0;
  #correctedLoads = 0;
  #scrubs = 0;

  constructor(device: GPUDevice, reports: ReportArena, options: MemoryOptions) {
    const scheme = schemes[options.scheme];
    this.#device = device;
    this.#scheme = scheme;
    this.#options = options;
    this.slot = reports.allocate({ bytes: 4 * reportWords.total, cells: 0 });
    const buffers = new ProtectedBuffers(device, scheme.granuleBytes);
    const words = new CodeWords(device, scheme, buffers, this.slot);
    const transfers = new GuardedTransfers(buffers, words);
    const submit = (encode: (site: EncoderSite) => void) => this.submit(encode);
    this.writes = new HostWrites({ queue: device.queue, scheme, buffers, words, transfers, submit });
    this.#mappings = new Mappings({
      ...{ scheme, buffers, retries: options.retries, refuses: options.refuses },
      send: (owner) =>
        this.submit((site) => {
          words.ensureVerified(site, allOf(owner));
          transfers.flush(site, allOf(owner));
        }),
      initialize: (owner, bytes, checks) => this.writes.initialize(owner, bytes, checks),
      corrected: (owner, count) => this.#noteCorrected(count, [{ owner, error: this.#errorIn(owner) }]),
      damaged: (owner, granules, outcome) => {
        const errors = granules.slice(0, NAMED).map((granule) => this.#errorIn(owner, granule));
        this.#noteDamaged(
          granules.length,
          errors.map((error) => ({ owner, error })),
        );
        for (const error of errors) options.onFault({ ...error, outcome });
        return new BelayMemoryError(errors);
      },
    });
    this.bracketing = new Bracketing(buffers, words);
    this.buffers = buffers;
    this.words = words;
    this.transfers = transfers;
  }

  get report(): MemoryReport {
    return {
      scheme: this.#scheme.name,
      held: this.buffers.held,
      ...{ corrected: this.#corrected, uncorrectable: this.#uncorrectable },
      ...{ correctedLoads: this.#correctedLoads, scrubs: this.#scrubs },
      buffers: [...this.buffers].map(({ buffer: { label, size }, counts }) => ({ label, size, ...counts })),
      unprotected: [...this.#unprotected],
    };
  }

  /** Gives a buffer that was just made its check words. Throws in strict mode where it can have none. */
  protect(buffer: GPUBuffer, { mappedAtCreation = false }: GPUBufferDescriptor, isAllocated: boolean): void {
    const owner = this.buffers.protect(buffer, isAllocated);
    if (typeof owner === "string") {
      const unprotected = describeUnprotected(buffer, owner);
      if (this.#options.strict) throw new UnprotectedBufferError(unprotected);
      this.#unprotected.push(unprotected);
      this.#reasons.set(buffer, unprotected);
    } else if (owner && (owner.mapped || mappedAtCreation)) {
      this.#arrivals.set(buffer, this.#mappings.cover(owner, mappedAtCreation));
    }
  }

  /** Verifies what is mapped now of a buffer, before the program gets at it; rejects when it is not to be released. */
  async arrived(buffer: GPUBuffer): Promise<void> {
    await this.#arrivals.get(buffer)?.();
  }

  /** Where commands of an encoder can be added; `native` has its original methods. */
  siteIn(encoder: GPUCommandEncoder, native: GPUCommandEncoder, record: CommandRecord): EncoderSite {
    return new EncoderSite(encoder, native, record);
  }

  /** Where the check words of a buffer are now. */
  checksOf(buffer: GPUBuffer): BufferRange | undefined {
    const owner = this.buffers.of(buffer);
    return owner && { buffer: this.buffers.arena.buffer, offset: 4 * owner.first, size: 4 * owner.granules };
  }

  /** Has a part of a buffer verified that something other than a kernel reads. */
  verifyIn(site: Site, range: BufferRange): void {
    const granules = this.buffers.granulesIn(range);
    if (granules) this.words.ensureVerified(site, granules);
  }

  /** Commands that make no check words may have written any part of a buffer. */
  wroteAnywhere(state: MemoryState, buffer: GPUBuffer): void {
    const owner = this.buffers.of(buffer);
    if (owner) this.words.wroteRaw(state, allOf(owner));
  }

  /** All check words, as kernels bind them. */
  get arena(): BufferRange {
    const { buffer } = this.buffers.arena;
    return { buffer, offset: 0, size: buffer.size };
  }

  /** The table that tells a kernel where the check words of its bindings are. Throws for a buffer that has none. */
  table(
    rows: readonly { readonly index: number; readonly range: BufferRange }[],
    bytes: number,
  ): BufferRange {
    const words = new Array<number>(bytes / 4).fill(0);
    for (const { index, range } of rows) {
      const granules = this.buffers.granulesIn(range);
      if (!granules) throw new UnprotectedBufferError(this.#reasons.get(range.buffer)!);
      words[index * tableRow.stride + tableRow.base] = granules.owner.first + granules.first;
      words[index * tableRow.stride + tableRow.bytes] = range.size;
    }
    return this.words.constants.of(words);
  }

  /** Submits commands of Belay's own. */
  submit(encode: (site: EncoderSite) => void): void {
    this.#device.queue.submit([this.#encode(encode)]);
  }

  /** What to submit for commands: what has to happen before them, they themselves, and what has to happen after. */
  around(commands: GPUCommandBuffer, record: CommandRecord | undefined): readonly GPUCommandBuffer[] {
    if (!record) return [commands];
    const { firstArena, arena, drawn } = record.memory;
    const { buffer } = this.buffers.arena;
    const isOutdated = firstArena !== undefined && firstArena !== buffer;
    const drawnFrom = [...drawn].flatMap((each) => this.buffers.of(each) ?? []);
    const before = (site: EncoderSite) => {
      for (const owner of drawnFrom) this.words.ensureVerified(site, allOf(owner));
      if (isOutdated) site.copy(common(buffer, firstArena), firstArena, 0);
    };
    const after = (site: EncoderSite) => site.copy(common(arena!, buffer), buffer, 0);
    return [
      ...(isOutdated || drawnFrom.length > 0 ? [this.#encode(before)] : []),
      commands,
      ...(arena !== undefined && arena !== buffer ? [this.#encode(after)] : []),
    ];
  }

  /** Flips bits of a buffer's memory on the host when it is mapped next; false for one that is never mapped. */
  flipMapped(buffer: GPUBuffer, byteOffset: number, mask: number): boolean {
    const owner = this.buffers.of(buffer);
    if (!owner?.mapped) return false;
    this.#mappings.flip(owner, { byteOffset, mask });
    return true;
  }

  /** Submits the verification of buffers; by default, of all that the device keeps. */
  scrub(owners: Iterable<ProtectedBuffer> = this.buffers): void {
    this.#scrubs++;
    this.submit((site) => {
      for (const owner of owners) if (owner.mapped !== "write") this.words.verify(site, allOf(owner));
    });
  }

  /** Tells what Belay's own kernels say of corrected granules, and returns the damaged ones. */
  read(words: Uint32Array): Damaged {
    const corrected = memoryFindings(words, "corrected");
    this.#noteCorrected(corrected.count, this.#damageIn(corrected, null));
    const uncorrectable = memoryFindings(words, "uncorrectable");
    const damage = this.#damageIn(uncorrectable, null);
    this.#noteDamaged(uncorrectable.count, damage);
    return { count: uncorrectable.count, damage };
  }

  /** As `read`, for the report of a kernel that checks its memory: it leaves memory itself as it is. */
  readKernel(words: Uint32Array, kernel: string): KernelDamaged {
    const corrected = memoryFindings(words, "corrected");
    const uncorrectable = memoryFindings(words, "uncorrectable");
    const suspect = memoryFindings(words, "suspect");
    const loads = this.#damageIn(corrected, kernel);
    const damage = this.#damageIn(uncorrectable, kernel);
    if (corrected.count > 0) {
      this.#correctedLoads += corrected.count;
      this.#options.onCorrected({ count: corrected.count, errors: loads.map(({ error }) => error) });
    }
    this.#noteDamaged(uncorrectable.count, damage);
    const all = [corrected, uncorrectable, suspect];
    const found = [...loads, ...damage, ...this.#damageIn(suspect, kernel)];
    const isComplete = all.every(({ count, records }) => count === records.length);
    const named = found.flatMap(({ owner }) => owner ?? []);
    const owners = isComplete && named.length === found.length ? named : [...this.buffers];
    return { count: uncorrectable.count, damage, owners: new Set(found.length > 0 ? owners : []) };
  }

  #encode(encode: (site: EncoderSite) => void): GPUCommandBuffer {
    const encoder = this.#device.createCommandEncoder({ label: "belay: memory" });
    encode(new EncoderSite(encoder, encoder, { memory: new MemoryState(), steps: [] }));
    return encoder.finish();
  }

  #damageIn({ records }: MemoryFindings, kernel: string | null): Damage[] {
    return records.map(({ check, syndrome }) => {
      const owner = this.buffers.ownerOf(check);
      const error = owner && this.#errorIn(owner, check - owner.first);
      const unknown = { buffer: "", byteOffset: null, granuleBytes: this.#scheme.granuleBytes };
      return { owner, error: { ...(error ?? unknown), kernel, syndrome } };
    });
  }

  #errorIn({ buffer }: ProtectedBuffer, granule?: number): MemoryError {
    const { granuleBytes } = this.#scheme;
    const byteOffset = granule === undefined ? null : granule * granuleBytes;
    return { buffer: buffer.label, byteOffset, granuleBytes, kernel: null, syndrome: null };
  }

  #noteCorrected(count: number, found: readonly Damage[]): void {
    if (count === 0) return;
    this.#corrected += count;
    share(count, found, "corrected");
    this.#options.onCorrected({ count, errors: found.map(({ error }) => error) });
  }

  #noteDamaged(count: number, found: readonly Damage[]): void {
    this.#uncorrectable += count;
    share(count, found, "uncorrectable");
  }
}

/** Granules that an error names; there may be more. */
const NAMED = 8;

/** Counts findings for the buffers they are in; what is not recorded any more counts for that of the last record. */
function share(count: number, found: readonly Damage[], as: "corrected" | "uncorrectable"): void {
  for (const [i, { owner }] of found.entries()) {
    if (owner) owner.counts[as] += i === found.length - 1 ? count - i : 1;
  }
}

function allOf(owner: ProtectedBuffer): Granules {
  return { owner, first: 0, count: owner.granules };
}

function common(from: GPUBuffer, to: GPUBuffer): BufferRange {
  return { buffer: from, offset: 0, size: Math.min(from.size, to.size) };
}

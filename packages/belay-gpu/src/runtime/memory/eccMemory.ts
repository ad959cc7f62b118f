import { type MemoryCode, type MemorySummary, reportWords, tableRow } from "../../compiler/contract.ts";
import { hostCodeOf, schemeOf } from "../../ecc/scheme.ts";
import { refusesFaults, trustsRest } from "../context/policy.ts";
import type { ReportSlot, ReportSnapshot } from "../context/reportArena.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import { Signal } from "../context/signal.ts";
import { type BufferRange, type GpuResource, isTexture, whole } from "../webgpu/resources.ts";
import { trialCells } from "./checksumKernels.ts";
import { Checksums } from "./checksums.ts";
import { CheckWordEncoder, type EncodingPoint } from "./checkWordEncoder.ts";
import { Constants } from "./constants.ts";
import { DispatchGuard, type GuardedUse } from "./dispatchGuard.ts";
import { EccPasses } from "./eccPasses.ts";
import { allOf, bytesOf, type ProtectedBuffer } from "./granules.ts";
import { GuardedTransfers, type StandIns, type Transfer } from "./guardedTransfers.ts";
import { HostWrites } from "./hostWrites.ts";
import {
  type DispatchSums,
  KernelSums,
  type KnownUniforms,
  type SummingDispatch,
  type SumsOnGrid,
} from "./kernelSums.ts";
import { Mappings } from "./mappings.ts";
import { EncoderPoint, MemoryCommands, type RecordedCommands } from "./memoryCommands.ts";
import {
  type Corrected,
  type Damage,
  type Damaged,
  type KernelDamaged,
  MemoryLog,
  type MemoryReport,
} from "./memoryLog.ts";
import type { BoundPoint, MemoryProtection, UsingDispatch } from "./memoryProtection.ts";
import type { MemoryState } from "./memoryState.ts";
import { ProtectedBuffers } from "./protectedBuffers.ts";
import { type Doubts, RestingData } from "./restingData.ts";
import { describeUnprotected, UnprotectedBufferError } from "./unprotectedBuffer.ts";

type Checks = NonNullable<MemorySummary["checks"]>;

/** The protected memory of a device, with check words for each granule of each protected buffer. */
export class EccMemory implements MemoryProtection {
  readonly canFindDamage = true;
  readonly mappedWrites = new Signal<BufferRange>();
  readonly trustEnded = new Signal();
  /** True if a buffer that cannot have check words is an error. */
  readonly #strict: boolean;
  readonly #buffers: ProtectedBuffers;
  /** The data at rest, if kernels may trust it. */
  readonly #resting: RestingData | undefined;
  readonly #constants: Constants;
  readonly #log: MemoryLog;
  readonly #words: CheckWordEncoder;
  readonly #commands: MemoryCommands;
  readonly #transfers: GuardedTransfers;
  readonly #dispatches: DispatchGuard;
  readonly #writes: HostWrites;
  readonly #mappings: Mappings;
  /** The report of Belay's own kernels. */
  readonly #slot: ReportSlot;
  /** The sums of the program's kernels, if the code is a checksum. */
  readonly #sums: KernelSums;
  readonly #checksums: Checksums | undefined;
  /** The damaged ranges that got matching check words, by buffer and byte offset. */
  readonly #accepted = new WeakMap<GPUBuffer, Map<number, BufferRange>>();

  constructor({ device, policy, codes, events, reports }: RuntimeContext, code: MemoryCode) {
    const scheme = hostCodeOf(code, codes);
    const isChecksum = code === "checksum";
    const cells = isChecksum ? trialCells : 0;
    const slot = reports.allocate({ bytes: 4 * (reportWords.total + cells), cells });
    const buffers = new ProtectedBuffers(device, scheme, (owner) => this.#verifyTrusted(owner));
    const constants = new Constants(device);
    const log = new MemoryLog(code, scheme, buffers, constants, events);
    let checksums: Checksums | undefined;
    const words = new CheckWordEncoder(device, buffers, constants, (arenaAt) => {
      if (!isChecksum)
        return new EccPasses(device, { buffers, constants, slot, arenaAt, scheme: schemeOf(code, codes) });
      checksums = new Checksums(device, { buffers, constants, slot, arenaAt });
      return checksums;
    });
    const transfers = new GuardedTransfers(buffers, words);
    const commands = new MemoryCommands(device, {
      buffers,
      words,
      flush: (point, granules) => transfers.flush(point, granules),
      ignoreSums: (point, isIgnored) => checksums?.ignore(point, isIgnored),
    });
    const submit = (encode: (point: EncoderPoint) => void) => commands.submit(encode);
    const writes = new HostWrites({ queue: device.queue, scheme, buffers, words, transfers, submit });
    this.#strict = policy.strict;
    this.#buffers = buffers;
    this.#resting = trustsRest(policy) ? new RestingData(policy.scrubIntervalMs) : undefined;
    this.#constants = constants;
    this.#log = log;
    this.#words = words;
    this.#commands = commands;
    this.#transfers = transfers;
    this.#dispatches = new DispatchGuard(buffers, words);
    this.#writes = writes;
    this.#slot = slot;
    this.#sums = new KernelSums(buffers);
    this.#checksums = checksums;
    this.#mappings = new Mappings({
      scheme,
      buffers,
      retries: policy.retries,
      refuses: refusesFaults(policy),
      send: (owner) =>
        submit((point) => {
          words.ensureVerified(point, allOf(owner));
          transfers.flush(point, allOf(owner));
        }),
      replaced: (range) => this.mappedWrites.emit(range),
      initialize: (owner, bytes, checks) => {
        this.#verifyTrusted(owner);
        writes.initialize(owner, bytes, checks);
      },
      corrected: (owner, count) => log.correctedOnHost(owner, count),
      damaged: (owner, granules, outcome) => log.damagedOnHost(owner, granules, outcome),
    });
  }

  get report(): MemoryReport {
    return this.#log.report;
  }

  allocationOf(descriptor: GPUBufferDescriptor): number | undefined {
    return this.#buffers.allocationOf(descriptor);
  }

  protect(buffer: GPUBuffer, { mappedAtCreation = false }: GPUBufferDescriptor, isAllocated: boolean): void {
    const owner = this.#buffers.protect(buffer, isAllocated);
    if (typeof owner === "string") {
      const unprotected = describeUnprotected(buffer, owner);
      if (this.#strict) throw new UnprotectedBufferError(unprotected);
      this.#log.unprotected.push(unprotected);
    } else if (owner && (owner.mapped || mappedAtCreation)) {
      this.#mappings.attach(owner, mappedAtCreation);
    }
  }

  leave(buffer: GPUBuffer): void {
    const owner = this.#buffers.of(buffer);
    if (owner) this.#verifyTrusted(owner);
  }

  verifyMapping(buffer: GPUBuffer): Promise<void> {
    return this.#mappings.verifyMapping(buffer);
  }

  checksOf(buffer: GPUBuffer): BufferRange | undefined {
    const owner = this.#buffers.of(buffer);
    const size = owner && this.#buffers.checksOf(owner).size;
    return owner && { buffer: this.arena, offset: 4 * owner.first, size: size! };
  }

  flipMapped(buffer: GPUBuffer, byteOffset: number, mask: number): boolean {
    const owner = this.#buffers.of(buffer);
    if (!owner?.mapped) return false;
    this.#mappings.flipNext(owner, { byteOffset, mask });
    return true;
  }

  get arena(): GPUBuffer {
    return this.#buffers.arena.buffer;
  }

  lacksChecks({ buffer, offset }: BufferRange): boolean {
    const owner = this.#buffers.of(buffer);
    return owner === undefined || offset % owner.granuleBytes !== 0;
  }

  bindChecks(
    { arena, table, tableBytes }: Checks,
    rows: readonly { readonly index: number; readonly range: BufferRange }[],
  ): readonly BoundPoint[] {
    const words = new Array<number>(tableBytes / 4).fill(0);
    for (const { index, range } of rows) {
      const { owner, first } = this.#buffers.granulesIn(range)!;
      words[index * tableRow.stride + tableRow.base] = owner.first + first;
      words[index * tableRow.stride + tableRow.bytes] = range.size;
    }
    return [
      { at: arena, range: whole(this.arena) },
      { at: table, range: this.#constants.of(words) },
    ];
  }

  bindSlots({ arena, table, tableBytes }: Checks, first: number): readonly BoundPoint[] {
    const words = new Array<number>(tableBytes / 4).fill(0);
    words[tableRow.base] = first;
    return [
      { at: arena, range: this.#checksums!.slots },
      { at: table, range: this.#constants.of(words) },
    ];
  }

  verifyIn(point: EncodingPoint, range: BufferRange): void {
    const granules = this.#buffers.granulesIn(range);
    if (granules) this.#words.ensureVerified(point, granules);
  }

  get decisions(): number {
    return this.#sums.decisions;
  }

  sumsOn(dispatch: SummingDispatch, grid: readonly number[], uniforms: KnownUniforms): SumsOnGrid {
    return this.#sums.on(dispatch, grid, uniforms);
  }

  guarded(dispatch: UsingDispatch, sums: DispatchSums | undefined): readonly GuardedUse[] {
    return this.#dispatches.guarded(dispatch.uses(sums));
  }

  beforeDispatch(point: EncodingPoint, uses: readonly GuardedUse[], filled: ReadonlySet<GpuResource>): void {
    if (uses.length > 0) this.#dispatches.before(point, uses, filled);
  }

  endPass(point: EncodingPoint): void {
    this.#words.endPass(point);
  }

  overwritten({ filled, memory: { overwritten } }: Parameters<MemoryProtection["overwritten"]>[0]) {
    return new Set([...overwritten].filter((buffer) => filled.has(buffer)));
  }

  reserve(point: EncodingPoint, sums: DispatchSums): number {
    const wanted = [...sums.values()].reduce((count, sum) => count + (sum?.doubt ? 2 : 1), 0);
    return this.#checksums!.reserve(point, wanted + point.state.waiting.length);
  }

  afterDispatch(point: EncodingPoint, uses: readonly GuardedUse[], sums: DispatchSums | undefined): void {
    if (sums) this.#checksums!.add(point, [...sums.values()]);
    this.#dispatches.after(point.state, uses);
  }

  recordRenderPass(state: MemoryState, read: Iterable<GpuResource>, written: Iterable<GpuResource>): void {
    for (const each of [...read, ...written]) if (!isTexture(each)) state.verifiedFirst.add(each);
    for (const owner of this.ownersOf(written)) state.wroteRaw(bytesOf(allOf(owner)));
  }

  transfer(
    encoder: GPUCommandEncoder,
    native: GPUCommandEncoder,
    record: RecordedCommands,
    transfer: Transfer,
    encode: (buffers: StandIns) => void,
  ): void {
    this.#transfers.encode(new EncoderPoint(encoder, native, record), transfer, encode);
  }

  finish(encoder: GPUCommandEncoder, native: GPUCommandEncoder, record: RecordedCommands): void {
    this.#words.finish(new EncoderPoint(encoder, native, record));
  }

  withUpdates(
    commands: readonly GPUCommandBuffer[],
    records: readonly (RecordedCommands | undefined)[],
  ): readonly GPUCommandBuffer[] {
    return commands.flatMap((each, i) => {
      const record = records[i];
      if (record)
        this.#resting?.admit({
          memory: record.memory,
          verifiedFirst: this.ownersOf(record.memory.verifiedFirst),
          written: this.ownersOf(record.written),
        });
      return this.#commands.withUpdates(each, record);
    });
  }

  hostWrite(range: BufferRange): ((bytes: Uint8Array<ArrayBuffer>) => void) | undefined {
    const write = this.#writes.writerFor(range);
    const owner = this.#buffers.of(range.buffer);
    if (!write || !owner) return undefined;
    return (bytes) => {
      this.#verifyTrusted(owner);
      write(bytes);
    };
  }

  /** Verifies a buffer before it changes or goes, if work has trusted it. */
  #verifyTrusted(owner: ProtectedBuffer): void {
    const resting = this.#resting;
    resting?.change(owner, () => {
      this.#commands.submit((point) => this.#words.verify(point, allOf(owner)));
      resting.verifies(owner);
      this.trustEnded.emit();
    });
  }

  get slots(): readonly ReportSlot[] {
    return [this.#slot];
  }

  get failed(): Promise<GPUError | null> {
    return this.#buffers.failed;
  }

  beginCheck(check: number): Doubts {
    this.#buffers.beginCheck(check);
    return this.#resting?.beginCheck(check) ?? { check, buffers: new Map() };
  }

  continueCheck(check: number): Doubts {
    return this.#resting?.continueCheck(check) ?? { check, buffers: new Map() };
  }

  read(snapshot: ReportSnapshot, doubts: Doubts, settled: number, known: readonly Damage[]): Damaged {
    const words = snapshot(this.#slot);
    this.#sums.read(words.subarray(reportWords.total));
    this.#buffers.forgetBefore(doubts.check);
    return this.#log.read(words, doubts, settled, known);
  }

  readKernel(words: Uint32Array, kernel: string): KernelDamaged {
    return this.#log.readKernel(words, kernel);
  }

  untrusted(corrected: Corrected): readonly Damage[] {
    return this.#log.untrusted(corrected);
  }

  ownersOf(resources: Iterable<GpuResource>): readonly ProtectedBuffer[] {
    return [...resources].flatMap((each) => (isTexture(each) ? [] : (this.#buffers.of(each) ?? [])));
  }

  scrub(owners: Iterable<ProtectedBuffer> = this.#buffers): void {
    // The device rejects commands with a buffer that is mapped. The host has its contents then.
    const kept = [...owners].filter(
      ({ mapped, buffer }) =>
        this.#buffers.of(buffer) && (mapped ? mapped === "read" : buffer.mapState === "unmapped"),
    );
    if (kept.length === 0) return;
    this.#log.scrubs++;
    this.#commands.submit((point) => {
      for (const owner of kept) {
        this.#words.clearPadding(point, allOf(owner));
        this.#words.verify(point, allOf(owner));
        this.#resting?.verifies(owner);
      }
    });
  }

  correctRestored(owners: readonly ProtectedBuffer[]): void {
    this.scrub(owners);
    for (const owner of owners) this.#resting?.change(owner);
  }

  accept(places: Iterable<BufferRange>): void {
    const damaged = [...places].flatMap((place) => this.#buffers.granulesIn(place) ?? []);
    if (damaged.length === 0) return;
    for (const granules of damaged) {
      const { buffer, offset, size } = bytesOf(granules);
      const accepted = this.#accepted.get(buffer) ?? new Map<number, BufferRange>();
      this.#accepted.set(buffer, accepted.set(offset, { buffer, offset, size }));
    }
    this.#commands.submit((point) => {
      for (const granules of damaged) this.#words.encode(point, granules);
    });
  }

  acceptedDamage(isWrong: (place: BufferRange) => boolean): readonly BufferRange[] {
    return [...this.#buffers].flatMap(({ buffer }) => {
      const accepted = [...(this.#accepted.get(buffer) ?? [])].filter(([, place]) => isWrong(place));
      if (accepted.length === 0) this.#accepted.delete(buffer);
      else this.#accepted.set(buffer, new Map(accepted));
      return accepted.map(([, place]) => place);
    });
  }
}

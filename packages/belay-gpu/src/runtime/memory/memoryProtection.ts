import type { BindingPoint, MemorySummary } from "../../compiler/contract.ts";
import type { ReportSlot, ReportSnapshot } from "../context/reportArena.ts";
import type { Signal } from "../context/signal.ts";
import type { BufferRange, Resource } from "../webgpu/resources.ts";
import type { Site } from "./checkWordEncoder.ts";
import type { GuardedUse, Use } from "./dispatchGuard.ts";
import type { ProtectedBuffer } from "./granules.ts";
import type { StandIns, Transfer } from "./guardedTransfers.ts";
import type { DispatchSums, SummingDispatch, SumsOnGrid } from "./kernelSums.ts";
import type { RecordedCommands } from "./memoryCommands.ts";
import type { Corrected, Damage, Damaged, KernelDamaged, MemoryReport } from "./memoryLog.ts";
import type { MemoryState } from "./memoryState.ts";

/** A buffer that is bound for a kernel besides the program's. */
export interface BoundPoint {
  readonly at: BindingPoint;
  readonly range: BufferRange;
}

/** A dispatch, by the parts of buffers that it uses. */
export interface UsingDispatch {
  /** `sums`: what the kernel adds up meanwhile. */
  uses(sums: DispatchSums | undefined): readonly Use[];
}

/** Check words as pipelines bind them. */
export interface CheckWordBindings {
  /**
   * The buffer of all check words, for bind groups made from now on; undefined where there are
   * none.
   */
  readonly arena: GPUBuffer | undefined;
  /**
   * Returns whether a kernel that checks a part of a buffer itself would not find check words for
   * it.
   */
  lacksChecks(range: BufferRange): boolean;
  /** Returns what a kernel binds to check these ranges, by rows of its table. */
  bindChecks(
    checks: NonNullable<MemorySummary["checks"]>,
    rows: readonly { readonly index: number; readonly range: BufferRange }[],
  ): readonly BoundPoint[];
  /** Returns what a kernel binds to add up its accesses, from a slot on. */
  bindSlots(checks: NonNullable<MemorySummary["checks"]>, first: number): readonly BoundPoint[];
}

/** Keeps check words right around the commands of the program and the writes of the host. */
export interface CommandGuard {
  /** Has a part of a buffer verified that something other than a kernel reads. */
  verifyIn(site: Site, range: BufferRange): void;
  /** Returns what a kernel is to do on a grid: less than it does, or what it adds up. */
  sumsOn(dispatch: SummingDispatch, grid: readonly number[]): SumsOnGrid;
  /** Returns the parts of buffers that have to be guarded around a dispatch. */
  guarded(dispatch: UsingDispatch, sums: DispatchSums | undefined): readonly GuardedUse[];
  /** `canWait`: a pass after the dispatch may verify what that only loads. */
  beforeDispatch(site: Site, uses: readonly GuardedUse[], canWait: boolean): void;
  /**
   * Gives a dispatch its slots and returns the first; `afterDispatch` is to follow with the same
   * sums.
   */
  reserve(site: Site, sums: DispatchSums): number;
  afterDispatch(site: Site, uses: readonly GuardedUse[], sums: DispatchSums | undefined): void;
  /** Notes what a render pass reads and writes, which has no place for other commands. */
  draws(state: MemoryState, read: Iterable<Resource>, written: Iterable<Resource>): void;
  /** Encodes a command that moves data, together with the check-word updates that it needs. */
  transfer(
    encoder: GPUCommandEncoder,
    native: GPUCommandEncoder,
    record: RecordedCommands,
    transfer: Transfer,
    encode: (buffers: StandIns) => void,
  ): void;
  /** Encodes the check words that are still to be made, at the end of a command buffer. */
  finish(encoder: GPUCommandEncoder, native: GPUCommandEncoder, record: RecordedCommands): void;
  /**
   * Returns what to submit for command buffers, each with what has to happen before and after it.
   */
  around(
    commands: readonly GPUCommandBuffer[],
    records: readonly (RecordedCommands | undefined)[],
  ): readonly GPUCommandBuffer[];
  /**
   * Returns what writes bytes of the host to a part of a buffer; undefined where the queue does.
   */
  hostWrite(range: BufferRange): ((bytes: Uint8Array<ArrayBuffer>) => void) | undefined;
}

/** Finds damage in memory, for verification. */
export interface DamageDetection {
  /** Whether damage can be found at all. */
  readonly canFindDamage: boolean;
  /** The reports of Belay's own kernels. */
  readonly slots: readonly ReportSlot[];
  /** The error, if the device has no memory for check words. */
  readonly failed: Promise<GPUError | null>;
  /** Reads the reports of Belay's own kernels. */
  read(snapshot: ReportSnapshot): Damaged;
  /** Reads the report of a kernel that checks its memory. */
  readKernel(words: Uint32Array, kernel: string): KernelDamaged;
  /** Returns what is damaged where corrections are not to be believed. */
  disbelieved(corrected: Corrected): readonly Damage[];
  /** Returns the buffers among resources that have check words. */
  ownersOf(resources: Iterable<Resource>): readonly ProtectedBuffer[];
  /** Submits the verification of buffers; by default, of all that the device keeps. */
  scrub(owners?: Iterable<ProtectedBuffer>): void;
  /**
   * Makes check words that fit damaged contents, once these are known to be wrong and refused. A
   * later write to a part of them is then not taken for more damage.
   */
  accept(places: Iterable<BufferRange>): void;
  /**
   * Returns the damaged contents that were accepted, and are still wrong by what a function tells
   * of a place.
   */
  damaged(isWrong: (place: BufferRange) => boolean): readonly BufferRange[];
}

/**
 * The protection of a device's memory. Without one it is `NoMemoryProtection`, so nobody has to
 * ask.
 */
export interface MemoryProtection extends CheckWordBindings, CommandGuard, DamageDetection {
  /** What it takes and has found; undefined without protection. */
  readonly report: MemoryReport | undefined;
  /** The parts of buffers that the host has replaced while they were mapped. */
  readonly mappedWrites: Signal<BufferRange>;
  /**
   * Returns the bytes to allocate for a buffer with check words; undefined for one that gets none.
   */
  allocationOf(descriptor: GPUBufferDescriptor): number | undefined;
  /** Gives a new buffer its check words. Throws in strict mode where it can have none. */
  protect(buffer: GPUBuffer, descriptor: GPUBufferDescriptor, isAllocated: boolean): void;
  /** Returns where the check words of a buffer are now. */
  checksOf(buffer: GPUBuffer): BufferRange | undefined;
  /**
   * Verifies what is mapped of a buffer before the program sees it; rejects where it is not to be
   * released.
   */
  arrived(buffer: GPUBuffer): Promise<void>;
  /**
   * Flips bits of a buffer's memory on the host when it is mapped next; false for one that is never
   * mapped.
   */
  flipMapped(buffer: GPUBuffer, byteOffset: number, mask: number): boolean;
}

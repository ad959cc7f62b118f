import type { BindingPoint, MemorySummary } from "../../compiler/contract.ts";
import type { ReportSlot, ReportSnapshot } from "../context/reportArena.ts";
import type { Signal } from "../context/signal.ts";
import type { Members } from "../webgpu/growingSet.ts";
import type { BufferRange, GpuResource } from "../webgpu/resources.ts";
import type { EncodingPoint } from "./checkWordEncoder.ts";
import type { GuardedUse, Use } from "./dispatchGuard.ts";
import type { ProtectedBuffer } from "./granules.ts";
import type { StandIns, Transfer } from "./guardedTransfers.ts";
import type { DispatchSums, KnownUniforms, SummingDispatch, SumsOnGrid } from "./kernelSums.ts";
import type { RecordedCommands } from "./memoryCommands.ts";
import type { Corrected, Damage, Damaged, KernelDamaged, MemoryReport } from "./memoryLog.ts";
import type { MemoryState } from "./memoryState.ts";
import type { Doubts } from "./restingData.ts";

/** A buffer range of Belay's own that is bound for a kernel. */
export interface BoundPoint {
  readonly at: BindingPoint;
  readonly range: BufferRange;
}

/** A dispatch, described by the buffer ranges that it uses. */
export interface UsingDispatch {
  /**
   * Returns the buffer ranges that the dispatch uses; `sums` are those that its kernel computes.
   */
  uses(sums: DispatchSums | undefined): readonly Use[];
}

/** The check words, as pipelines bind them. */
export interface CheckWordBindings {
  /**
   * The buffer with all check words, for bind groups that are created from now on. Undefined if
   * there are none.
   */
  readonly arena: GPUBuffer | undefined;
  /** Returns true if a range has no check words that a kernel with checks of its own could use. */
  lacksChecks(range: BufferRange): boolean;
  /** Returns the ranges that a kernel binds to check the buffers of these rows of its table. */
  bindChecks(
    checks: NonNullable<MemorySummary["checks"]>,
    rows: readonly { readonly index: number; readonly range: BufferRange }[],
  ): readonly BoundPoint[];
  /**
   * Returns the ranges that a kernel binds to add up its accesses, into the slots from `first` on.
   */
  bindSlots(checks: NonNullable<MemorySummary["checks"]>, first: number): readonly BoundPoint[];
}

/**
 * Keeps check words up to date when commands of the program and writes of the host change memory.
 */
export interface CommandGuard {
  /** Encodes the verification of a range that something other than a kernel reads. */
  verifyIn(point: EncodingPoint, range: BufferRange): void;
  /** A number that changes when `sumsOn` may give another answer. */
  readonly decisions: number;
  /** Returns the sums of a kernel on a grid, or the schemes of the variant to use instead. */
  sumsOn(dispatch: SummingDispatch, grid: readonly number[], uniforms: KnownUniforms): SumsOnGrid;
  /** Returns the buffer ranges to guard around a dispatch. */
  guarded(dispatch: UsingDispatch, sums: DispatchSums | undefined): readonly GuardedUse[];
  /** Encodes updates before a dispatch, which probably overwrites the buffers of `filled`. */
  beforeDispatch(point: EncodingPoint, uses: readonly GuardedUse[], filled: ReadonlySet<GpuResource>): void;
  /** Encodes verifications that wait, at the end of a compute pass. */
  endPass(point: EncodingPoint): void;
  /**
   * Returns the buffers of `filled` whose earlier contents and check words no command reads. The
   * commands overwrite the contents of all buffers of `filled`.
   */
  overwritten(commands: {
    readonly filled: Members<GpuResource>;
    readonly memory: MemoryState;
  }): Members<GpuResource>;
  /**
   * Reserves slots for a dispatch and returns the index of the first. Call `afterDispatch` with the
   * same sums next.
   */
  reserve(point: EncodingPoint, sums: DispatchSums): number;
  afterDispatch(point: EncodingPoint, uses: readonly GuardedUse[], sums: DispatchSums | undefined): void;
  /**
   * Records the resources that a render pass reads and writes. No other commands can be encoded
   * within a render pass.
   */
  recordRenderPass(state: MemoryState, read: Iterable<GpuResource>, written: Iterable<GpuResource>): void;
  /** Encodes a command that moves data, together with the check-word updates that it needs. */
  transfer(
    encoder: GPUCommandEncoder,
    native: GPUCommandEncoder,
    record: RecordedCommands,
    transfer: Transfer,
    encode: (buffers: StandIns) => void,
  ): void;
  /** Encodes the pending check words at the end of a command buffer. */
  finish(encoder: GPUCommandEncoder, native: GPUCommandEncoder, record: RecordedCommands): void;
  /**
   * Returns the command buffers to submit: each one of the program's with the updates before and
   * after it.
   */
  withUpdates(
    commands: readonly GPUCommandBuffer[],
    records: readonly (RecordedCommands | undefined)[],
  ): readonly GPUCommandBuffer[];
  /**
   * Returns a function that writes bytes of the host to a range. Undefined if the queue should
   * write them.
   */
  hostWrite(range: BufferRange): ((bytes: Uint8Array<ArrayBuffer>) => void) | undefined;
}

/** Finds damage in memory, for verification. */
export interface DamageDetection {
  /** True if damage can be found at all. */
  readonly canFindDamage: boolean;
  /** The reports of Belay's own kernels. */
  readonly slots: readonly ReportSlot[];
  /** The error if the device had no memory for check words, otherwise null. */
  readonly failed: Promise<GPUError | null>;
  /** Returns the buffers in doubt for the check of all work so far. Numbers of checks increase. */
  beginCheck(check: number): Doubts;
  /** Returns the buffers in doubt for a check that began earlier. */
  continueCheck(check: number): Doubts;
  /**
   * Reads the reports of Belay's own kernels, for a check with these doubts. The results of all
   * work up to the `settled` check may be released. Corrections of `known` granules do not count.
   */
  read(snapshot: ReportSnapshot, doubts: Doubts, settled: number, known: readonly Damage[]): Damaged;
  /** Reads the report of a kernel that checks its memory. */
  readKernel(words: Uint32Array, kernel: string): KernelDamaged;
  /** Returns the granules to treat as damaged if corrections cannot be trusted. */
  untrusted(corrected: Corrected): readonly Damage[];
  /** Returns the protected buffers among resources. */
  ownersOf(resources: Iterable<GpuResource>): readonly ProtectedBuffer[];
  /**
   * Submits the verification of buffers. The default is all buffers whose current contents are on
   * the device.
   */
  scrub(owners?: Iterable<ProtectedBuffer>): void;
  /**
   * Corrects buffers whose earlier contents were restored. The outcome is not relied on: work that
   * trusts one of them verifies it again.
   */
  correctRestored(owners: readonly ProtectedBuffer[]): void;
  /**
   * Gives damaged contents matching check words, after they were found wrong and refused. A later
   * write to a part of them does then not report the same damage again.
   */
  accept(places: Iterable<BufferRange>): void;
  /** Returns the accepted ranges that are still wrong according to `isWrong`. */
  acceptedDamage(isWrong: (place: BufferRange) => boolean): readonly BufferRange[];
}

/**
 * The protection of a device's memory. A device without it has `NoMemoryProtection`, so no caller
 * has to test for it.
 */
export interface MemoryProtection extends CheckWordBindings, CommandGuard, DamageDetection {
  /** The costs and the findings; undefined without protection. */
  readonly report: MemoryReport | undefined;
  /** A signal for each buffer range that the host replaced while it was mapped. */
  readonly mappedWrites: Signal<BufferRange>;
  /** Emitted when trusted data was verified before its change or end. A check reads the outcome. */
  readonly trustEnded: Signal;
  /**
   * Returns the number of bytes to allocate for a buffer with check words. Undefined if the buffer
   * gets none.
   */
  allocationOf(descriptor: GPUBufferDescriptor): number | undefined;
  /** Gives a new buffer its check words. Throws in strict mode if it cannot have any. */
  protect(buffer: GPUBuffer, descriptor: GPUBufferDescriptor, isAllocated: boolean): void;
  /** Takes it that the program destroys a buffer. Its destruction may be deferred. */
  leave(buffer: GPUBuffer): void;
  /** Returns the current range of the check words of a buffer. */
  checksOf(buffer: GPUBuffer): BufferRange | undefined;
  /**
   * Verifies the mapped range of a buffer before the program sees it. Rejects if the data must not
   * be released.
   */
  verifyMapping(buffer: GPUBuffer): Promise<void>;
  /**
   * Flips bits of a buffer's memory on the host when it is mapped next. Returns false if the buffer
   * can never be mapped.
   */
  flipMapped(buffer: GPUBuffer, byteOffset: number, mask: number): boolean;
}

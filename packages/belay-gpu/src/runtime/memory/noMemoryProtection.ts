import { Signal } from "../context/signal.ts";
import type { Members } from "../webgpu/growingSet.ts";
import type { BufferRange, GpuResource } from "../webgpu/resources.ts";
import type { StandIns, Transfer } from "./guardedTransfers.ts";
import type { SumsOnGrid } from "./kernelSums.ts";
import type { Corrected, Damaged, KernelDamaged } from "./memoryLog.ts";
import type { MemoryProtection } from "./memoryProtection.ts";
import type { Doubts } from "./restingData.ts";

const noSums: SumsOnGrid = { variant: undefined, sums: undefined, expected: undefined };
const noneCorrected: Corrected = { count: 0, places: [] };
const undamaged: Damaged = { count: 0, damage: [], corrected: noneCorrected };
const undamagedByKernel: KernelDamaged = { ...undamaged, owners: new Set(), leavesDoubt: false };
const nothing: readonly never[] = [];
const noDoubts: Doubts = { check: 0, buffers: new Map() };

/**
 * The null object of {@link MemoryProtection}, for memory without check words. It encodes commands
 * unchanged and finds no damage.
 */
export class NoMemoryProtection implements MemoryProtection {
  readonly arena = undefined;
  readonly canFindDamage = false;
  readonly slots = nothing;
  readonly failed = Promise.resolve(null);
  readonly report = undefined;
  readonly mappedWrites = new Signal<BufferRange>();
  readonly trustEnded = new Signal();

  lacksChecks(): boolean {
    return false;
  }

  bindChecks(): readonly never[] {
    return nothing;
  }

  bindSlots(): readonly never[] {
    return nothing;
  }

  verifyIn(): void {}

  sumsOn(): SumsOnGrid {
    return noSums;
  }

  guarded(): readonly never[] {
    return nothing;
  }

  readonly decisions = 0;

  beforeDispatch(): void {}

  endPass(): void {}

  overwritten({ filled }: { readonly filled: Members<GpuResource> }): Members<GpuResource> {
    return filled;
  }

  reserve(): number {
    return 0;
  }

  afterDispatch(): void {}

  recordRenderPass(): void {}

  transfer(
    _encoder: GPUCommandEncoder,
    _native: GPUCommandEncoder,
    _record: unknown,
    { source, target }: Transfer,
    encode: (buffers: StandIns) => void,
  ): void {
    encode({ source: source?.buffer as GPUBuffer, target: target?.buffer as GPUBuffer });
  }

  finish(): void {}

  withUpdates(commands: readonly GPUCommandBuffer[]): readonly GPUCommandBuffer[] {
    return commands;
  }

  hostWrite(): undefined {}

  beginCheck(): Doubts {
    return noDoubts;
  }

  continueCheck(): Doubts {
    return noDoubts;
  }

  read(): Damaged {
    return undamaged;
  }

  readKernel(): KernelDamaged {
    return undamagedByKernel;
  }

  untrusted(): readonly never[] {
    return nothing;
  }

  ownersOf(): readonly never[] {
    return nothing;
  }

  scrub(): void {}

  correctRestored(): void {}

  accept(): void {}

  acceptedDamage(): readonly never[] {
    return nothing;
  }

  allocationOf(): undefined {}

  protect(): void {}

  leave(): void {}

  checksOf(): undefined {}

  async verifyMapping(): Promise<void> {}

  flipMapped(): boolean {
    return false;
  }
}

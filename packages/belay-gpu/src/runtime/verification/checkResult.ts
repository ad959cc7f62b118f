/** The result of a check of submitted work, and the refusals that follow from it. */

import { type Detection, FaultError } from "../context/detectedFault.ts";
import { type MemoryError, MemoryFaultError } from "../context/memoryFault.ts";
import type { Refusal } from "../context/recovery.ts";
import { UnverifiedError, unverifiedError } from "../context/unverified.ts";
import type { ProtectedBuffer } from "../memory/granules.ts";
import type { Corrected, Damage } from "../memory/memoryLog.ts";
import type { ProtectedKernel } from "../pipelines/protectedKernels.ts";
import { type BufferRange, whole } from "../webgpu/resources.ts";
import type { KernelFindings } from "./readReport.ts";

/** The result of one check: empty when all is well. */
export interface CheckResult {
  readonly kernels: ReadonlyMap<ProtectedKernel, KernelFindings>;
  /** Granules that are damaged: how many, and the first ones. */
  readonly damaged: number;
  readonly damage: readonly Damage[];
  /**
   * Kernels that loaded damaged granules that their reports do not name: how many, and the errors
   * that they do name.
   */
  readonly unplaced: ReadonlyMap<
    ProtectedKernel,
    { readonly count: number; readonly errors: readonly MemoryError[] }
  >;
  /** Buffers in which kernels found errors. */
  readonly suspects: ReadonlySet<ProtectedBuffer>;
  /** Granules that were corrected, and whether a kernel has left doubt that they were wrong. */
  readonly corrected: Corrected;
  readonly isInDoubt: boolean;
}

export const nothingFound: CheckResult = {
  kernels: new Map(),
  damaged: 0,
  damage: [],
  unplaced: new Map(),
  suspects: new Set(),
  corrected: { count: 0, places: [] },
  isInDoubt: false,
};

export function isClean({ kernels, damaged }: CheckResult): boolean {
  return kernels.size === 0 && damaged === 0;
}

/** Whether only a hash is known of what the replicas wrote. */
export const isHashed = ({ site, difference }: Detection): boolean =>
  difference !== null || site?.scalar === "hash";

/** Whether there are only findings that are no fault. */
export const isUndecided = (found: CheckResult): boolean =>
  !isClean(found) && found.damaged === 0 && faultsIn(found).length === 0;

/** Returns the faults of all kernels. */
export function faultsIn({ kernels }: CheckResult): Detection[] {
  return [...kernels.values()].flatMap(({ faults }) => faults);
}

/** The refusal of all that a check has found. */
export function errorOf({ kernels, damage }: CheckResult, reason?: string): Refusal {
  return kernels.size > 0
    ? faultError([...kernels.values()], reason)
    : new MemoryFaultError(
        damage.map(({ error }) => error),
        reason,
      );
}

/** What is to blame for wrong data, with the refusals that follow. */
export interface Blame {
  readonly kernels: ReadonlyMap<ProtectedKernel, Refusal>;
  /** Damaged granules, or buffers where no granule is known. */
  readonly damage: readonly { readonly place: BufferRange; readonly refusal: Refusal }[];
  /**
   * Set where more is damaged, in places that are not known: they are not recorded, or their
   * buffers are gone.
   */
  readonly elsewhere: Refusal | undefined;
}

/** Returns what is to blame for what a check of these kernels' work has found. */
export function blameOf(found: CheckResult, kernels: Iterable<ProtectedKernel>, reason?: string): Blame {
  const refusals = new Map<ProtectedKernel, Refusal>();
  const damage = found.damage.flatMap(({ error, owner }) => {
    if (!owner) return [];
    const { byteOffset, granuleBytes } = error;
    const { buffer } = owner;
    const place = byteOffset === null ? whole(buffer) : { buffer, offset: byteOffset, size: granuleBytes };
    return [{ place, refusal: new MemoryFaultError([error], reason) }];
  });
  for (const kernel of kernels) {
    const findings = found.kernels.get(kernel);
    const unplaced = found.unplaced.get(kernel);
    if (findings) refusals.set(kernel, faultError([findings], reason));
    else if (unplaced) refusals.set(kernel, new MemoryFaultError(unplaced.errors, reason));
    // It was found out too late that the device refuses the protected code: nothing has run.
    else if (kernel.refused !== undefined) refusals.set(kernel, new UnverifiedError(kernel.refused));
  }
  // Granules that kernels loaded and did not name are wrong in nothing but what these kernels
  // wrote.
  const loaded = [...found.unplaced.values()].reduce((sum, { count }) => sum + count, 0);
  const isAll = damage.length + loaded >= found.damaged;
  return { kernels: refusals, damage, elsewhere: isAll ? undefined : errorOf(found, reason) };
}

export function firstOf({ kernels, damage, elsewhere }: Blame): Refusal | undefined {
  const [refusal] = [...damage.map((each) => each.refusal), ...kernels.values()];
  return refusal ?? elsewhere;
}

function faultError(all: readonly KernelFindings[], reason?: string): FaultError | UnverifiedError {
  const faults = all.flatMap((findings) => findings.faults);
  const [unverified] = all.flatMap((findings) => findings.unverified);
  return faults.length === 0 && unverified ? unverifiedError(unverified) : new FaultError(faults, reason);
}

/** The result of a check of submitted work, and the errors that refuse the work's results. */

import { type Detection, FaultError } from "../context/detectedFault.ts";
import { type MemoryError, MemoryFaultError } from "../context/memoryFault.ts";
import type { Refusal } from "../context/recovery.ts";
import { UnverifiedError, unverifiedError } from "../context/unverified.ts";
import type { ProtectedBuffer } from "../memory/granules.ts";
import type { Corrected, Damage } from "../memory/memoryLog.ts";
import type { ProtectedKernel } from "../pipelines/protectedKernels.ts";
import { type BufferRange, whole } from "../webgpu/resources.ts";
import type { KernelFindings } from "./readReport.ts";

/** The result of one check. It is empty if no fault was found. */
export interface CheckResult {
  readonly kernels: ReadonlyMap<ProtectedKernel, KernelFindings>;
  /** The number of damaged granules, and the first of them. */
  readonly damaged: number;
  readonly damage: readonly Damage[];
  /**
   * The kernels that loaded damaged granules which their reports do not name: the number of such
   * granules, and the errors that the reports name.
   */
  readonly unplaced: ReadonlyMap<
    ProtectedKernel,
    { readonly count: number; readonly errors: readonly MemoryError[] }
  >;
  /** The buffers in which kernels found errors. */
  readonly suspects: ReadonlySet<ProtectedBuffer>;
  /**
   * The granules that were corrected. `isInDoubt` is true if a kernel may have caused a correction
   * of right data.
   */
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

/**
 * Returns whether only hashes of the replicas' stores were compared, so the wrong store is unknown.
 */
export const isHashed = ({ site, difference }: Detection): boolean =>
  difference !== null || site?.scalar === "hash";

/** Returns whether a check found something, but no fault and no damage. */
export const isUndecided = (found: CheckResult): boolean =>
  !isClean(found) && found.damaged === 0 && faultsIn(found).length === 0;

/**
 * Returns whether a check found nothing but causes, such as waits that ran out, that other variants
 * of the kernels do not have.
 */
export const isAvoidable = (found: CheckResult): boolean =>
  isUndecided(found) &&
  [...found.kernels.values()].every(({ unverified }) =>
    unverified.every(({ cause }) => cause === "waitedTooLong" || cause === "subgroupsMixed"),
  );

/** Returns the faults of all kernels. */
export function faultsIn({ kernels }: CheckResult): Detection[] {
  return [...kernels.values()].flatMap(({ faults }) => faults);
}

/** Returns the error that refuses the results for all findings of a check. */
export function errorOf({ kernels, damage }: CheckResult, reason?: string): Refusal {
  return kernels.size > 0
    ? faultError([...kernels.values()], reason)
    : new MemoryFaultError(
        damage.map(({ error }) => error),
        reason,
      );
}

/** The causes of wrong data, each with the error that refuses the data. */
export interface Blame {
  readonly kernels: ReadonlyMap<ProtectedKernel, Refusal>;
  /** The damaged granules, or whole buffers if the granule is unknown. */
  readonly damage: readonly {
    readonly place: BufferRange;
    readonly refusal: Refusal;
    /** True if the granule is right by now, but not what kernels computed of it. */
    readonly isCorrected: boolean;
  }[];
  /**
   * Set if there is more damage at unknown locations, as it was not recorded or its buffers no
   * longer exist.
   */
  readonly elsewhere: Refusal | undefined;
}

/** Returns the causes of wrong data, from a check of these kernels' work. */
export function blameOf(found: CheckResult, kernels: Iterable<ProtectedKernel>, reason?: string): Blame {
  const refusals = new Map<ProtectedKernel, Refusal>();
  const damage = found.damage.flatMap(({ error, owner, isCorrected = false }) => {
    if (!owner) return [];
    const { byteOffset, granuleBytes } = error;
    const { buffer } = owner;
    const place = byteOffset === null ? whole(buffer) : { buffer, offset: byteOffset, size: granuleBytes };
    return [{ place, refusal: new MemoryFaultError([error], reason), isCorrected }];
  });
  for (const kernel of kernels) {
    const findings = found.kernels.get(kernel);
    const unplaced = found.unplaced.get(kernel);
    if (findings) refusals.set(kernel, faultError([findings], reason));
    else if (unplaced) refusals.set(kernel, new MemoryFaultError(unplaced.errors, reason));
    // The device rejected the protected code after the work was submitted, so nothing ran.
    else if (kernel.rejection !== undefined) refusals.set(kernel, new UnverifiedError(kernel.rejection));
  }
  // Damaged granules that kernels loaded and did not name affect only the stores of these kernels.
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

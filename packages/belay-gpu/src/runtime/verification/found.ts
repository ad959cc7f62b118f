/** What the check of submitted work finds, and why data is refused for it. */

import { BelayFaultError, type Detection, invocationOf } from "../context/detectedFault.ts";
import { BelayMemoryError, type MemoryError } from "../context/memoryFault.ts";
import type { Refusal } from "../context/recovery.ts";
import { UnverifiedError, unverifiedError } from "../context/unverified.ts";
import type { ProtectedBuffer } from "../memory/granules.ts";
import { type Corrected, type Damage, distinct } from "../memory/memoryLog.ts";
import type { Kernel } from "../pipelines/kernel.ts";
import { type BufferRange, whole } from "../webgpu/resources.ts";
import type { Findings } from "./readReport.ts";

/** What one check has found: nothing when all is well. */
export interface Found {
  readonly kernels: ReadonlyMap<Kernel, Findings>;
  /** Granules that are damaged: how many, and the first ones. */
  readonly damaged: number;
  readonly damage: readonly Damage[];
  /**
   * Kernels that loaded damaged granules that their reports do not name: how many, and the errors
   * that they do name.
   */
  readonly unplaced: ReadonlyMap<Kernel, { readonly count: number; readonly errors: readonly MemoryError[] }>;
  /** Buffers in which kernels found errors. */
  readonly suspects: ReadonlySet<ProtectedBuffer>;
  /** Granules that were corrected, and whether a kernel has left doubt that they were wrong. */
  readonly corrected: Corrected;
  readonly isInDoubt: boolean;
}

/** All that was seen of faults while work was run again: each once, however often it came back. */
export interface Seen {
  readonly faults: Detection[];
  damage: readonly Damage[];
}

export const nothing: Found = {
  kernels: new Map(),
  damaged: 0,
  damage: [],
  unplaced: new Map(),
  suspects: new Set(),
  ...{ corrected: { count: 0, places: [] }, isInDoubt: false },
};

export function isClean({ kernels, damaged }: Found): boolean {
  return kernels.size === 0 && damaged === 0;
}

export function seenIn(found: Found): Seen {
  const seen: Seen = { faults: [], damage: [] };
  note(seen, found);
  return seen;
}

/** Tells of a kernel's faults what they have stored, where replicas were compared as hashes. */
export function noteStored(seen: Seen, kernel: Kernel, stored: Detection["stored"]): void {
  for (const [i, fault] of seen.faults.entries())
    if (fault.kernel === kernel.name && isHashed(fault)) seen.faults[i] = { ...fault, stored };
}

/** Whether only a hash is known of what the replicas wrote. */
export const isHashed = ({ site, difference }: Detection): boolean =>
  difference !== null || site?.scalar === "hash";

/** Whether there are only findings that are no fault. */
export const isUndecided = (found: Found): boolean =>
  !isClean(found) && found.damaged === 0 && faultsIn(found).length === 0;

/**
 * Adds what the check of work that has run again has found, less the faults that came back. Of one
 * that was known by its hashes, and now by a store, the store is kept.
 */
export function noteReturned(seen: Seen, found: Found): void {
  const known = new Set(seen.faults.map(invocationOf));
  for (const fault of faultsIn(found)) {
    const hashed = isHashed(fault)
      ? -1
      : seen.faults.findIndex((each) => isHashed(each) && mayBeOf(each, fault));
    if (hashed >= 0) seen.faults[hashed] = fault;
    else if (!known.has(invocationOf(fault))) seen.faults.push(fault);
    known.add(invocationOf(fault));
  }
  noteDamage(seen, found);
}

/** Adds what the check of work that runs for the first time has found. */
export function note(seen: Seen, found: Found): void {
  seen.faults.push(...faultsIn(found));
  noteDamage(seen, found);
}

/**
 * Whether what is known by hashes of an invocation, or of a whole workgroup, may be of the same as
 * a fault.
 */
function mayBeOf(hashed: Detection, { kernel, workgroup, localIndex }: Detection): boolean {
  if (hashed.kernel !== kernel) return false;
  if (hashed.localIndex !== null && hashed.localIndex !== localIndex) return false;
  if (!("index" in hashed.workgroup)) return hashed.workgroup.join() === String(workgroup);
  // The grid is not known, which says how workgroups of other rows are numbered.
  const [x, y, z] = workgroup as readonly [number, number, number];
  return y + z > 0 || x % hashed.workgroup.modulo === hashed.workgroup.index;
}

function faultsIn({ kernels }: Found): Detection[] {
  return [...kernels.values()].flatMap(({ faults }) => faults);
}

function noteDamage(seen: Seen, { damage }: Found): void {
  seen.damage = distinct([...seen.damage, ...damage]);
}

/** The refusal of all that a check has found. */
export function errorOf({ kernels, damage }: Found, reason?: string): Refusal {
  return kernels.size > 0
    ? faultError([...kernels.values()], reason)
    : new BelayMemoryError(
        damage.map(({ error }) => error),
        reason,
      );
}

/** What is to blame for wrong data, with the refusals that follow. */
export interface Blame {
  readonly kernels: ReadonlyMap<Kernel, Refusal>;
  /** Damaged granules, or buffers where no granule is known. */
  readonly damage: readonly { readonly place: BufferRange; readonly refusal: Refusal }[];
  /** Set where more is damaged, in places that are not known: they are not recorded, or their buffers are gone. */
  readonly elsewhere: Refusal | undefined;
}

/** Returns what is to blame for what a check of these kernels' work has found. */
export function blameOf(found: Found, kernels: Iterable<Kernel>, reason?: string): Blame {
  const refusals = new Map<Kernel, Refusal>();
  const damage = found.damage.flatMap(({ error, owner }) => {
    if (!owner) return [];
    const { byteOffset, granuleBytes } = error;
    const { buffer } = owner;
    const place = byteOffset === null ? whole(buffer) : { buffer, offset: byteOffset, size: granuleBytes };
    return [{ place, refusal: new BelayMemoryError([error], reason) }];
  });
  for (const kernel of kernels) {
    const findings = found.kernels.get(kernel);
    const unplaced = found.unplaced.get(kernel);
    if (findings) refusals.set(kernel, faultError([findings], reason));
    else if (unplaced) refusals.set(kernel, new BelayMemoryError(unplaced.errors, reason));
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

function faultError(all: readonly Findings[], reason?: string): BelayFaultError | UnverifiedError {
  const faults = all.flatMap((findings) => findings.faults);
  const [unverified] = all.flatMap((findings) => findings.unverified);
  return faults.length === 0 && unverified
    ? unverifiedError(unverified)
    : new BelayFaultError(faults, reason);
}

import type { Members } from "../webgpu/growingSet.ts";
import { RangeSet } from "../webgpu/rangeSet.ts";
import type { BufferRange, GpuResource } from "../webgpu/resources.ts";
import type { SumTrial } from "./checksumKernels.ts";
import type { ProtectedBuffer } from "./granules.ts";

/**
 * A sum of a buffer that has not been compared yet. Its index in the list is the number of its
 * slot.
 */
export interface PendingSum {
  /** The number by which equal lists of sums are found again. Absent for a sum that comes once. */
  readonly id?: number;
  readonly owner: ProtectedBuffer;
  /**
   * The use of the sum.
   *
   * - A `"loaded"` sum must be `weight` times the checksum.
   * - A `"stored"` sum becomes the checksum.
   * - A `"begun"` sum is subtracted from the checksum.
   * - An `"ended"` sum is added to the result.
   */
  readonly kind: "loaded" | "stored" | "begun" | "ended";
  /** True if a `"begun"` sum need not be compared with the checksum. */
  readonly isVerified?: boolean;
  readonly weight: number;
  /**
   * Set if the kernel may not have accessed each word equally often: the count of places if it did,
   * and where to record the outcome. Nothing relies on such a sum but its stand-in.
   */
  readonly doubt?: { readonly places: number; readonly trial?: SumTrial | undefined };
  /**
   * The count of places that uniform buffers imply. A sum of loads with another count is not
   * compared: such a uniform buffer is damaged, and its own verification finds that.
   */
  readonly places?: number;
  /** The index of the sum in doubt that this sum replaces if words were accessed unequally. */
  readonly standsInFor?: number;
}

let sums = 0;

/** The most sums of a buffer that are found again. Grids may differ with each dispatch. */
const mostPlainSums = 16;

const plainSums = new WeakMap<ProtectedBuffer, PendingSum[]>();

/** Returns a sum without doubt, which has a number. Equal ones are the same object for a while. */
export function plainSum(
  owner: ProtectedBuffer,
  kind: "loaded" | "stored",
  weight = 1,
  places?: number,
): PendingSum {
  const known = plainSums.get(owner) ?? [];
  for (const each of known)
    if (each.kind === kind && each.weight === weight && each.places === places) return each;
  const sum = { id: ++sums, owner, kind, weight, ...(places !== undefined && { places }) };
  plainSums.set(owner, [...known.slice(1 - mostPlainSums), sum]);
  return sum;
}

/** Tells which contents uniform buffers have, if only the host wrote them. */
export interface UniformVersions {
  /** Returns a number that changes with the contents of a buffer; undefined if they are unknown. */
  versionOf(buffer: GPUBuffer): number | undefined;
}

/** The contents of uniform buffers at one time. Unknown ones have no version. */
export interface KnownContents {
  readonly contents: readonly { readonly buffer: GPUBuffer; readonly version: number | undefined }[];
}

/** The contents of uniform buffers with which the sums of a dispatch mean what is expected. */
export interface ExpectedUniforms extends KnownContents {
  /** Call it if a uniform buffer had other contents when the commands were submitted. */
  readonly missed: () => void;
}

/** Returns whether uniform buffers have the expected contents. */
export function isAsExpected({ contents }: KnownContents, uniforms: UniformVersions): boolean {
  for (const { buffer, version } of contents) if (uniforms.versionOf(buffer) !== version) return false;
  return true;
}

/**
 * The state of protected memory in a command buffer while it is recorded, and the work to do before
 * and after it.
 */
export class MemoryState {
  /** The ranges that were written after their check words had been computed. */
  readonly raw = new RangeSet();
  /** The ranges that were verified and have not been written since. */
  readonly verified = new RangeSet();
  /**
   * The buffers to verify before the command buffer. Render passes use them, which cannot contain a
   * verification. Or a dispatch was expected to overwrite them, and does not.
   */
  readonly verifiedFirst = new Set<GPUBuffer>();
  /**
   * The buffers of which dispatches are expected to overwrite data and check words completely,
   * before any other use. They are not verified.
   */
  readonly overwritten = new Set<GPUBuffer>();
  /** The buffers that the commands themselves verify, or parts of them. */
  readonly verifies = new Set<ProtectedBuffer>();
  /** The buffers that the commands have changed so far. */
  readonly changed = new Set<GPUBuffer>();
  /** The buffers that kernels load without a verification if they are at rest at the submission. */
  readonly trusted = new Set<ProtectedBuffer>();
  /** The arenas that the first and the latest commands use. */
  firstArena: GPUBuffer | undefined;
  arena: GPUBuffer | undefined;
  /**
   * The sums that have not been compared yet, in the order of their computation. The index of a sum
   * is its slot. An entry is undefined if its sum will not be used.
   */
  pending: (PendingSum | undefined)[] = [];
  /** The buffers to add up before one of them changes, at the latest at the end of the pass. */
  readonly waiting: PendingSum[] = [];
  /** The number of compute passes that have ended. */
  passes = 0;
  /** The contents of uniform buffers on which the sums rely. */
  readonly expected = new Set<ExpectedUniforms>();
  /**
   * True if uniform buffers had other contents when the commands were submitted. The sums of the
   * command buffer are then ignored. Other command buffers verify what it uses before it, and
   * encode what it writes after it.
   */
  ignoresSums = false;

  /** True if other command buffers verify or encode memory before or after the commands. */
  get isUpdated(): boolean {
    return this.verifiedFirst.size > 0 || this.ignoresSums || this.firstArena !== this.arena;
  }

  /**
   * Corrects the expectations. `filled` has the buffers that the commands overwrite completely.
   * Call it when the commands are submitted.
   */
  verifyUnfilled(filled: Members<GpuResource>): void {
    for (const buffer of this.overwritten) if (!filled.has(buffer)) this.verifiedFirst.add(buffer);
  }

  /**
   * Compares uniform buffers with the expected contents. `used` has the buffers whose earlier
   * contents matter to the commands. Call it when the commands are submitted.
   */
  confirm(uniforms: UniformVersions, used: () => Iterable<GPUBuffer>): void {
    for (const each of this.expected) {
      if (isAsExpected(each, uniforms)) continue;
      each.missed();
      this.ignoresSums = true;
    }
    if (this.ignoresSums) for (const buffer of used()) this.verifiedFirst.add(buffer);
  }

  /** Marks granules as not verified, after they were written together with their check words. */
  wrote(granules: BufferRange): void {
    this.verified.remove(granules);
    this.changed.add(granules.buffer);
  }

  /** Marks granules as raw, after a write that computed no check words. */
  wroteRaw(granules: BufferRange): void {
    this.wrote(granules);
    this.raw.add(granules);
  }
}

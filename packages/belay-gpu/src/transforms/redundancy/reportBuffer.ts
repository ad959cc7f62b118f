/** The report buffer: what a protected kernel tells the host. */
import type { Span } from "../../diagnostics/diagnostic.ts";

/** A place in the user's source where the replicas are compared. Ids start at 1. */
export interface CheckSite {
  readonly id: number;
  readonly kind: "store" | "atomic" | "textureStore" | "signature" | "uniformLoad";
  readonly span: Span;
  /** The function of the protected module that has the check. */
  readonly functionName: string;
  /**
   * The variable written, or the entry point for `"signature"`: what is compared once, at the end
   * (signatures and tallies).
   */
  readonly name: string;
  /**
   * How to read a record's value words; `"hash"` for a signature or a composite value, whose first
   * word is a hash.
   */
  readonly scalar: "f32" | "i32" | "u32" | "f16" | "bool" | "hash";
  /** Value words in use, 0 to 4: a constant is not compared and not recorded. */
  readonly components: number;
}

/**
 * Where the protected module binds its report buffer (a read-write storage buffer, compute stage
 * only).
 */
export interface ReportLayout {
  readonly group: number;
  readonly binding: number;
  /**
   * Size of the buffer in bytes. What lies behind the records and cells, up to the counts, is for
   * the kernel alone: zero at first, and never to be read or written by the host.
   */
  readonly bytes: number;
  /**
   * How many words after the records are sums that must be zero whenever no work is under way: to
   * each, the two replicas of some workgroups add what they presented, one with the opposite sign,
   * and their tallies of what they stored.
   */
  readonly cells: number;
  /**
   * Set when executions of fault sites are counted: the byte offset of the counts, which are the
   * last in the buffer.
   */
  readonly counts?: number;
}

/**
 * The report buffer, in 32-bit words. On a disagreement each replica writes one record of its own
 * side (so a detected fault is two records of the same site and invocation, or one when the other
 * replica never reached the site); the first `recordCapacity` are kept. A zeroed buffer is a clean
 * report.
 */
export const reportWords = {
  /**
   * Records so far, one per disagreeing replica (may exceed `recordCapacity`). Nonzero means a
   * fault was detected.
   */
  detections: 0,
  /**
   * Loads that found, and corrected in registers, a bad granule; one granule may be loaded many
   * times.
   */
  corrected: 1,
  /** Loads of granules that could not be corrected. */
  uncorrectable: 2,
  /**
   * Stores to parts of granules that did not fit their check words just then. That is no error if
   * others were storing to the same granule; but where one still does not fit when the kernel is
   * done, it counts as uncorrectable.
   */
  suspect: 3,
  /**
   * Which dimension of the grid is doubled, for an Inter-Group kernel that was told to look here
   * (`InterGroup.doubling`).
   */
  grid: 4,
  /**
   * First record. The words before are a line of memory of their own, so that cells begin with a
   * line, too; where faults are injected, what arms them is there (`injectionWords`).
   */
  records: 32,
  /**
   * Words of a record: check site, workgroup id x, y, z, local index (as the unprotected kernel
   * numbers them), replica, cause (`recordCause`), word offset of the store in its variable, four
   * words of the value (see `CheckSite.scalar`).
   */
  recordStride: 12,
  recordCapacity: 16,
  /**
   * First memory record: a list of the first `memoryRecordCapacity` for each `memoryStatus`, one
   * after the other.
   */
  memoryRecords: 32 + 12 * 16,
  /**
   * Words of a memory record: index of the binding, granule in the binding, syndrome,
   * `tableRow.base` of the binding.
   */
  memoryRecordStride: 4,
  memoryRecordCapacity: 8,
  /** Words in all. */
  total: 32 + 12 * 16 + 3 * 4 * 8,
} as const;

/**
 * The cells of an Inter-Group report (`ReportLayout.cells`): enough for atomic operations to spread
 * over the cache.
 */
export const cellCount = 4096;

/**
 * How many of them a workgroup has, one behind the other, to which its invocations add in turn; the
 * last one is followed by the first.
 */
export const cellsOfWorkgroup = 32;

/** Why a replica wrote a record. */
export const recordCause = {
  /** The replicas' words differ. */
  mismatch: 1,
  /** The other replica was not there (it took another path, or stopped). */
  partnerAbsent: 2,
  /**
   * No fault: the device did not run the other replica's workgroup in time, so nothing is known.
   */
  waitedTooLong: 3,
  /**
   * No fault: nothing ran, as no dimension of the grid of an indirect dispatch has room for twice
   * the workgroups.
   */
  gridTooLarge: 4,
} as const;

/**
 * What became of a granule that did not fit its check word; the counters and the lists of records
 * are in this order.
 */
export const memoryStatus = { corrected: 1, uncorrectable: 2, suspect: 3 } as const;

/** Numbers the check sites of a module. */
export class CheckSites {
  readonly all: CheckSite[] = [];

  /** Returns the id of the new site. */
  add(site: Omit<CheckSite, "id">): number {
    const id = this.all.length + 1;
    this.all.push({ id, ...site });
    return id;
  }
}

/** The report buffer: what a protected kernel tells the host, and how the host arms a fault. */
import type { Span } from "../diagnostics/diagnostic.ts";

/** A place in the user's source where the replicas are compared. Ids start at 1. */
export interface CheckSite {
  readonly id: number;
  readonly kind: "store" | "atomic" | "textureStore" | "signature" | "uniformLoad";
  readonly span: Span;
  /** The function of the protected module that has the check. */
  readonly functionName: string;
  /** The variable written, or the entry point for a signature. */
  readonly name: string;
  /** How to read a record's value words; `"hash"` for a signature or a composite value, whose first word is a hash. */
  readonly scalar: "f32" | "i32" | "u32" | "f16" | "bool" | "hash";
  /** Value words in use, 0 to 4: a constant is not compared and not recorded. */
  readonly components: number;
}

/** A source value that a fault can strike. Ids start at 1. */
export interface FaultSite {
  readonly id: number;
  readonly span: Span;
  /** The function the value is computed in. */
  readonly functionName: string;
  /** 32-bit words of the value (components of a vector); the armed component selects one. */
  readonly components: number;
}

/** Where the protected module binds its report buffer (a read-write storage buffer, compute stage only). */
export interface ReportLayout {
  readonly group: number;
  readonly binding: number;
  /**
   * Size of the buffer in bytes. What lies behind the records and cells is for the kernel alone: zero at first, and never
   * to be read or written by the host.
   */
  readonly bytes: number;
  /**
   * How many words after the records are sums that must be zero whenever no work is under way: to each, the two replicas of
   * some workgroups add what they presented, one with the opposite sign.
   */
  readonly cells: number;
}

/**
 * The report buffer, in 32-bit words. On a disagreement each replica writes one record of its own side (so a detected
 * fault is two records of the same site and invocation, or one when the other replica never reached the site); the first
 * `recordCapacity` are kept. The host arms a fault by writing the `armed*` words (site 0 = none). A zeroed buffer is a
 * clean, unarmed report.
 */
export const reportWords = {
  /** Records so far, one per disagreeing replica (may exceed `recordCapacity`). Nonzero means a fault was detected. */
  detections: 0,
  /** How often an armed fault really struck. */
  strikes: 1,
  armedSite: 2,
  /** 0 or 1: the replica struck. */
  armedReplica: 3,
  /** XORed into the struck word. */
  armedMask: 4,
  /** Component of a vector value. */
  armedComponent: 5,
  /** The struck invocation: workgroup id x, y, z and local invocation index, as the unprotected kernel numbers them. */
  armedWorkgroupX: 6,
  armedWorkgroupY: 7,
  armedWorkgroupZ: 8,
  armedLocalIndex: 9,
  /** Which dynamic execution of the site by that invocation, counted from 0. */
  armedOccurrence: 10,
  /** Which dimension of the grid is doubled, for an Inter-Group kernel that was told to look here (`InterGroup.doubling`). */
  grid: 11,
  /** Loads that found, and corrected in registers, a bad granule; one granule may be loaded many times. */
  corrected: 12,
  /** Loads of granules that could not be corrected. */
  uncorrectable: 13,
  /** First record. */
  records: 16,
  /**
   * Words of a record: check site, workgroup id x, y, z, local index (as the unprotected kernel numbers them), replica,
   * cause (`recordCause`), word offset of the store in its variable, four words of the value (see `CheckSite.scalar`).
   */
  recordStride: 12,
  recordCapacity: 16,
  /** First memory record. The first `memoryRecordCapacity` of the corrected and the uncorrectable loads are kept. */
  memoryRecords: 16 + 12 * 16,
  /** Words of a memory record: index of the binding, granule in the binding, syndrome, `memoryStatus`. */
  memoryRecordStride: 4,
  memoryRecordCapacity: 16,
  /** Words in all. */
  total: 16 + 12 * 16 + 4 * 16,
} as const;

/** The cells of an Inter-Group report (`ReportLayout.cells`): more than workgroups run at once, so that few meet in one. */
export const cellCount = 4096;

/** Why a replica wrote a record. */
export const recordCause = {
  /** The replicas' words differ. */
  mismatch: 1,
  /** The other replica was not there (it took another path, or stopped). */
  partnerAbsent: 2,
  /** No fault: the device did not run the other replica's workgroup in time, so nothing is known. */
  waitedTooLong: 3,
  /** No fault: nothing ran, as no dimension of the grid of an indirect dispatch has room for twice the workgroups. */
  gridTooLarge: 4,
} as const;

/** What became of a granule that did not fit its check word. */
export const memoryStatus = { corrected: 1, uncorrectable: 2 } as const;

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

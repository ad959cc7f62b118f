/** The layout of the report buffer, in which a protected kernel records what it detected. */
import type { Span } from "../../diagnostics/diagnostic.ts";
import type { FunctionDeclaration } from "../../wgsl/ast.ts";

/** A place in the program's source where the replicas are compared. Ids start at 1. */
export interface CheckSite {
  /** The number of the site in its module, from 1. */
  readonly id: number;
  /** The operation whose operands are compared, or `"signature"`. */
  readonly kind: "store" | "atomic" | "textureStore" | "signature" | "uniformLoad";
  /** The place in the source. */
  readonly span: Span;
  /** The name of the function in the protected module that contains the check. */
  readonly functionName: string;
  /**
   * The variable that is written. For `"signature"`, the entry point, whose signatures and tallies
   * are compared once at the end.
   */
  readonly name: string;
  /**
   * The type of a record's value words. `"hash"` means that the first word is a hash: of a
   * signature or of a composite value.
   */
  readonly scalar: "f32" | "i32" | "u32" | "f16" | "bool" | "hash";
  /** The number of value words in use, 0 to 4. A constant is not compared and not recorded. */
  readonly components: number;
}

/**
 * The binding of the report buffer in the protected module: a read-write storage buffer, visible to
 * the compute stage only.
 */
export interface ReportLayout {
  readonly group: number;
  readonly binding: number;
  /**
   * The size of the buffer in bytes. The kernel alone uses the words between the cells and the
   * counts. They must be zero at first, and the host must neither read nor write them, except for
   * `ranOut`.
   */
  readonly bytes: number;
  /**
   * The number of cells after the records: sums that are zero whenever no work is under way. The
   * two replicas of some workgroups add to each what they presented, one with the opposite sign,
   * and their tallies of stores.
   */
  readonly cells: number;
  /**
   * The byte offset of the word that is not zero once a wait has run out. Set if replicas wait for
   * each other. From then on, they neither wait nor record anything, and do not store what they
   * cannot compare. The host therefore clears the word whenever it clears the records.
   */
  readonly ranOut?: number;
  /**
   * The byte offset of the counts, which are last in the buffer. Set if executions of fault sites
   * are counted.
   */
  readonly counts?: number;
}

/**
 * The offsets of the report buffer's parts, in 32-bit words.
 *
 * On a disagreement each replica writes one record of its own side. A detected fault is thus two
 * records of one site and invocation, or one if the other replica never reached the site. The first
 * `recordCapacity` records are kept. A zeroed buffer is a clean report.
 */
export const reportWords = {
  /**
   * The number of records so far, one per disagreeing replica. It may exceed `recordCapacity`.
   * Nonzero means that a fault was detected.
   */
  detections: 0,
  /**
   * The number of loads that corrected a bad granule in registers. One granule may be loaded many
   * times.
   */
  corrected: 1,
  /** The number of loads of granules that could not be corrected. */
  uncorrectable: 2,
  /**
   * The number of stores to parts of granules that did not fit their check words at that moment.
   * This is no error if other invocations were storing to the same granule. A granule that still
   * does not fit after the kernel counts as uncorrectable.
   */
  suspect: 3,
  /**
   * The doubled dimension of the grid, for an Inter-Group kernel that reads it here
   * (`InterGroup.doubling`).
   */
  grid: 4,
  /**
   * Not 0 while dispatches of a skippable kernel do nothing (`CompilerOptions.skippable`). Words
   * that arm faults are between `grid` and this one (`injectionWords`).
   */
  skip: 25,
  /**
   * The first record. The words before it fill a line of memory, so that cells begin with a line
   * too.
   */
  records: 32,
  /**
   * The number of words of a record. They are the check site, three words of the workgroup's id,
   * the local index, the replica and the cause (`recordCause`). After them come the word offset of
   * the store in its variable, and four words of the value (`CheckSite.scalar`). The id and the
   * index are those of the unprotected kernel.
   */
  recordStride: 12,
  recordCapacity: 16,
  /**
   * The first memory record. Each `memoryStatus` has a list of its first `memoryRecordCapacity`
   * records, one list after the other.
   */
  memoryRecords: 32 + 12 * 16,
  /**
   * The number of words of a memory record: index of the binding, granule in the binding, syndrome,
   * `tableRow.base` of the binding.
   */
  memoryRecordStride: 4,
  memoryRecordCapacity: 8,
  /** The number of words of all these parts. */
  total: 32 + 12 * 16 + 3 * 4 * 8,
} as const;

/**
 * The number of cells in an Inter-Group report (`ReportLayout.cells`): enough to spread atomic
 * operations over the cache.
 */
export const cellCount = 4096;

/**
 * The number of consecutive cells of a workgroup. Its invocations add to them in turn, and the
 * first cell of the report follows the last.
 */
export const cellsOfWorkgroup = 32;

/** The reason of a record. */
export const recordCause = {
  /** The replicas' words differ. */
  mismatch: 1,
  /** The other replica did not reach the site: it took another path, or stopped. */
  partnerAbsent: 2,
  /**
   * No fault: the device did not run the other replica's workgroup in time, so nothing is known.
   */
  waitedTooLong: 3,
  /**
   * No fault: nothing ran, because no dimension of an indirect dispatch's grid has room for twice
   * the workgroups.
   */
  gridTooLarge: 4,
  /**
   * No fault: a subgroup did not hold neighbors of one replica, so its operations may have seen
   * both replicas.
   */
  subgroupsMixed: 5,
} as const;

/**
 * The outcome of checking a granule that did not fit its check word. The counters and the lists of
 * records are in this order.
 */
export const memoryStatus = { corrected: 1, uncorrectable: 2, suspect: 3 } as const;

/** The numbered check sites of a module. */
export class CheckSites {
  readonly all: CheckSite[] = [];

  /** Returns the id of the new site. */
  add(site: Omit<CheckSite, "id">): number {
    const id = this.all.length + 1;
    this.all.push({ id, ...site });
    return id;
  }

  /** Returns the id of a new site for the comparison at the end of an entry point. */
  addSignature({ name, nameSpan: span }: FunctionDeclaration): number {
    return this.add({ kind: "signature", span, functionName: name, name, scalar: "hash", components: 1 });
  }
}

import { type MemoryCode, memoryStatus, reportWords } from "../../compiler/contract.ts";
import type { HostCode } from "../../ecc/scheme.ts";
import type { Events } from "../context/events.ts";
import { type MemoryError, MemoryFaultError, type MemoryOutcome } from "../context/memoryFault.ts";
import type { Constants } from "./constants.ts";
import type { MemoryCounts, ProtectedBuffer } from "./granules.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";
import type { Doubts } from "./restingData.ts";
import type { UnprotectedBuffer } from "./unprotectedBuffer.ts";

/** A granule with an error, and its buffer if that still exists. */
export interface Damage {
  readonly error: MemoryError;
  readonly owner: ProtectedBuffer | undefined;
  /** True if the granule is right by now, and kernels may have loaded it before. */
  readonly isCorrected?: true;
}

/** Damage in a buffer that is known. */
type PlacedDamage = Damage & { readonly owner: ProtectedBuffer };

/** A corrected granule that work had trusted, up to the work of the check with this number. */
interface TrustedError {
  readonly damage: Damage;
  readonly last: number;
}

/** Returns the first error of each granule. Errors in buffers that no longer exist are all kept. */
export function distinct(damage: readonly Damage[]): readonly Damage[] {
  const known = new Map<ProtectedBuffer, Set<number | null>>();
  return damage.filter(({ owner, error: { byteOffset } }) => {
    if (!owner) return true;
    const offsets = known.get(owner) ?? new Set();
    known.set(owner, offsets);
    return !offsets.has(byteOffset) && offsets.add(byteOffset);
  });
}

/** The damaged granules of a report: their number, and the first of them. */
export interface Damaged {
  readonly count: number;
  readonly damage: readonly Damage[];
  /** The granules that were corrected. */
  readonly corrected: Corrected;
}

/** The corrected granules: their number, and the first of them. */
export interface Corrected {
  readonly count: number;
  readonly places: readonly Damage[];
}

/**
 * The {@link Damaged} granules that a kernel found, and all buffers in which it may have found
 * errors.
 */
export interface KernelDamaged extends Damaged {
  readonly owners: ReadonlySet<ProtectedBuffer>;
  /**
   * True if the kernel stored to a part of a wrong granule. The error may then be in the check word
   * of right data.
   */
  readonly leavesDoubt: boolean;
}

/** The costs of protected memory, and the errors that were found in it. */
export interface MemoryReport {
  /** The code of buffers. */
  readonly scheme: MemoryCode;
  /**
   * The GPU memory for check words, for tables of their locations, and for mirrors of mappable
   * buffers, in bytes.
   */
  readonly held: number;
  /** The number of corrected errors. */
  readonly corrected: number;
  /** The number of times that a granule had more errors than the code corrects. */
  readonly uncorrectable: number;
  /**
   * The number of loads that kernels corrected. Their granules count as corrected when memory is
   * corrected.
   */
  readonly correctedLoads: number;
  /** The number of times that memory was scrubbed. */
  readonly scrubs: number;
  /** The protected buffers that exist. */
  readonly buffers: readonly ProtectedBufferReport[];
  /** The buffers that could not be given check words. */
  readonly unprotected: readonly UnprotectedBuffer[];
}

/** A protected buffer, and the errors that were found in it. */
export interface ProtectedBufferReport extends Readonly<MemoryCounts> {
  /** The label of the buffer. */
  readonly label: string;
  /** The size in bytes. */
  readonly size: number;
}

/** The most granules that an error from the host names. There may be more. */
const NAMED = 8;

/**
 * Reads the memory errors in kernels' reports, finds the buffers of the granules, emits events, and
 * counts.
 */
export class MemoryLog {
  readonly unprotected: UnprotectedBuffer[] = [];
  scrubs = 0;
  readonly #scheme: MemoryCode;
  readonly #code: HostCode;
  readonly #buffers: ProtectedBuffers;
  readonly #constants: Constants;
  readonly #events: Events;
  #corrected = 0;
  #uncorrectable = 0;
  #correctedLoads = 0;
  /** The errors that the work of later checks had trusted, too. */
  #later: readonly TrustedError[] = [];

  constructor(
    scheme: MemoryCode,
    code: HostCode,
    buffers: ProtectedBuffers,
    constants: Constants,
    events: Events,
  ) {
    this.#code = code;
    this.#constants = constants;
    this.#scheme = scheme;
    this.#buffers = buffers;
    this.#events = events;
  }

  get report(): MemoryReport {
    return {
      scheme: this.#scheme,
      held: this.#buffers.held + this.#constants.held,
      corrected: this.#corrected,
      uncorrectable: this.#uncorrectable,
      correctedLoads: this.#correctedLoads,
      scrubs: this.scrubs,
      buffers: [...this.#buffers].map(({ buffer: { label, size }, counts }) => ({ label, size, ...counts })),
      unprotected: [...this.unprotected],
    };
  }

  /**
   * Reads the report of Belay's own kernels. Emits an event for corrected granules, and returns the
   * damaged ones. Corrected granules count as damaged, too, if work after the `settled` check
   * loaded them before. Emits an event if results of earlier work depend on a wrong granule.
   * Corrections of `known` granules do not count again.
   */
  read(words: Uint32Array, { check, buffers }: Doubts, settled: number, known: readonly Damage[]): Damaged {
    const corrected = memoryFindings(words, "corrected");
    const places = this.#damageIn(corrected, null);
    const fresh = distinct([...known, ...places]).filter((each) => !known.includes(each));
    const repeated = places.length - fresh.length;
    this.#recordCorrected(corrected.count - repeated, fresh);
    const uncorrectable = memoryFindings(words, "uncorrectable");
    const damage = this.#damageIn(uncorrectable, null);
    this.#recordDamaged(uncorrectable.count, damage);
    const late = inDoubt(corrected.count, places, buffers);
    const lost = inDoubt(uncorrectable.count, damage, buffers);
    this.#tellReleased([...late, ...lost], buffers, settled);
    const trusted = late.map(
      (each): TrustedError => ({
        damage: { ...each, isCorrected: true },
        last: buffers.get(each.owner)!.last,
      }),
    );
    const unsettled = [...this.#later, ...trusted].filter(({ last }) => last > settled);
    this.#later = unsettled.filter(({ last }) => last > check);
    return {
      count: uncorrectable.count + unsettled.length,
      damage: [...damage, ...unsettled.map((each) => each.damage)],
      corrected: { count: corrected.count, places },
    };
  }

  /** Emits an event if work up to the `settled` check used wrong granules. */
  #tellReleased(wrong: readonly PlacedDamage[], doubts: Doubts["buffers"], settled: number): void {
    const used = wrong.flatMap(({ error, owner }) => {
      const doubt = doubts.get(owner)!;
      return doubt.first <= settled ? [{ error, doubt }] : [];
    });
    if (used.length === 0) return;
    const milliseconds = Math.max(...used.map(({ doubt }) => doubt.milliseconds));
    this.#events.emit("suspectResults", { errors: used.map(({ error }) => error), milliseconds });
  }

  /**
   * Reads the report of a kernel that checks its own memory. Such a kernel corrects loads in
   * registers and leaves memory as it is.
   */
  readKernel(words: Uint32Array, kernel: string): KernelDamaged {
    const corrected = memoryFindings(words, "corrected");
    const uncorrectable = memoryFindings(words, "uncorrectable");
    const suspect = memoryFindings(words, "suspect");
    const loads = this.#damageIn(corrected, kernel);
    const damage = this.#damageIn(uncorrectable, kernel);
    if (corrected.count > 0) {
      this.#correctedLoads += corrected.count;
      countFindings(corrected.count, loads, "correctedLoads");
      this.#events.emit("corrected", { count: corrected.count, errors: loads.map(({ error }) => error) });
    }
    this.#recordDamaged(uncorrectable.count, damage);
    const suspects = this.#damageIn(suspect, kernel);
    const repaired = suspects.filter(({ error }) => this.#isCorrectable(error.syndrome!));
    this.#recordCorrected(repaired.length, repaired);
    const found = [...loads, ...damage, ...suspects];
    const named = found.flatMap(({ owner }) => owner ?? []);
    // An error that is not recorded may be in any buffer.
    const isAll = named.length === corrected.count + uncorrectable.count + suspect.count;
    return {
      count: uncorrectable.count,
      damage,
      corrected: { count: corrected.count, places: loads },
      owners: new Set(isAll ? named : this.#buffers),
      leavesDoubt: suspect.count > 0,
    };
  }

  /**
   * Returns the granules to treat as damaged if corrections cannot be trusted. Returns all buffers
   * if some granule is not recorded.
   */
  untrusted({ count, places }: Corrected): readonly Damage[] {
    const areAllKnown = places.length === count && places.every(({ owner }) => owner);
    if (areAllKnown) return places;
    return [...this.#buffers].map((owner) => ({ owner, error: errorIn(owner) }));
  }

  /** Returns whether a syndrome belongs to an error that the code corrects. */
  #isCorrectable(syndrome: number): boolean {
    const { granuleBytes, verify } = this.#code;
    return verify(new Uint32Array(granuleBytes / 4), Uint32Array.of(syndrome)).uncorrectable.length === 0;
  }

  /** Records that the host corrected bits of a buffer. */
  correctedOnHost(owner: ProtectedBuffer, count: number): void {
    this.#recordCorrected(count, [{ owner, error: errorIn(owner) }]);
  }

  /**
   * Records that the host found damaged granules in a buffer, and returns the error that names
   * them.
   */
  damagedOnHost(
    owner: ProtectedBuffer,
    granules: readonly number[],
    outcome: MemoryOutcome,
  ): MemoryFaultError {
    const errors = granules.slice(0, NAMED).map((granule) => errorIn(owner, granule));
    const damage = errors.map((error) => ({ owner, error }));
    this.#recordDamaged(granules.length, damage);
    for (const error of errors) this.#events.emit("memoryFault", { ...error, outcome });
    return new MemoryFaultError(errors);
  }

  #damageIn({ records }: MemoryFindings, kernel: string | null): Damage[] {
    return records.map(({ check, syndrome }) => {
      const owner = this.#buffers.ownerOf(check);
      const error = owner && errorIn(owner, check - owner.first);
      const unknown = { buffer: "", byteOffset: null, granuleBytes: 0 };
      return { owner, error: { ...(error ?? unknown), kernel, syndrome } };
    });
  }

  #recordCorrected(count: number, found: readonly Damage[]): void {
    if (count === 0) return;
    this.#corrected += count;
    countFindings(count, found, "corrected");
    this.#events.emit("corrected", { count, errors: found.map(({ error }) => error) });
  }

  #recordDamaged(count: number, found: readonly Damage[]): void {
    this.#uncorrectable += count;
    countFindings(count, found, "uncorrectable");
  }
}

function errorIn({ buffer, granuleBytes }: ProtectedBuffer, granule?: number): MemoryError {
  const byteOffset = granule === undefined ? null : granule * granuleBytes;
  return { buffer: buffer.label, byteOffset, granuleBytes, kernel: null, syndrome: null };
}

/**
 * Returns the granules of buffers in doubt among `count` granules, of which `places` has those that
 * are recorded. If some are not, each buffer in doubt may have one.
 */
function inDoubt(
  count: number,
  places: readonly Damage[],
  doubts: Doubts["buffers"],
): readonly PlacedDamage[] {
  const isInDoubt = (each: Damage): each is PlacedDamage =>
    each.owner !== undefined && doubts.has(each.owner);
  const known = places.filter(isInDoubt);
  if (places.length === count && places.every(({ owner }) => owner)) return known;
  return [...known, ...[...doubts.keys()].map((owner) => ({ owner, error: errorIn(owner) }))];
}

/**
 * Adds findings to the counts of their buffers. Findings without a record count for the buffer of
 * the last record.
 */
function countFindings(
  count: number,
  found: readonly Damage[],
  as: "corrected" | "correctedLoads" | "uncorrectable",
): void {
  for (const [i, { owner }] of found.entries()) {
    if (owner) owner.counts[as] += i === found.length - 1 ? count - i : 1;
  }
}

/** A granule that a report names. */
interface MemoryRecord {
  /** The index of its check word in the arena. */
  readonly check: number;
  readonly syndrome: number;
}

/**
 * The granules of a report that did not match their check words: their number, and the first of
 * them.
 */
interface MemoryFindings {
  readonly count: number;
  readonly records: readonly MemoryRecord[];
}

/** Reads the list of one status from a report. */
function memoryFindings(words: Uint32Array, status: keyof typeof memoryStatus): MemoryFindings {
  const { corrected, memoryRecords, memoryRecordStride, memoryRecordCapacity } = reportWords;
  const list = memoryStatus[status] - memoryStatus.corrected;
  const count = words[corrected + list]!;
  const records = Array.from({ length: Math.min(count, memoryRecordCapacity) }, (_, i) => {
    const start = memoryRecords + (list * memoryRecordCapacity + i) * memoryRecordStride;
    return { check: words[start + 1]! + words[start + 3]!, syndrome: words[start + 2]! };
  });
  return { count, records };
}

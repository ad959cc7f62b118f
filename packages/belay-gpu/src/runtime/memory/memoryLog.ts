import { hostCodeOf } from "../../codes/scheme.ts";
import { type MemoryCode, memoryStatus, reportWords } from "../../compiler/contract.ts";
import type { Events } from "../context/events.ts";
import { type MemoryError, MemoryFaultError, type MemoryOutcome } from "../context/memoryFault.ts";
import type { Constants } from "./constants.ts";
import type { MemoryCounts, ProtectedBuffer } from "./granules.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";
import type { UnprotectedBuffer } from "./unprotectedBuffer.ts";

/** A granule with an error, and the buffer that it is in, while that exists. */
export interface Damage {
  readonly error: MemoryError;
  readonly owner: ProtectedBuffer | undefined;
}

/** Returns the first error of each granule. Errors in buffers that are gone are all kept. */
export function distinct(damage: readonly Damage[]): readonly Damage[] {
  const known = new Map<ProtectedBuffer, Set<number | null>>();
  return damage.filter(({ owner, error: { byteOffset } }) => {
    if (!owner) return true;
    const offsets = known.get(owner) ?? new Set();
    known.set(owner, offsets);
    return !offsets.has(byteOffset) && offsets.add(byteOffset);
  });
}

/** Damaged granules that a report tells of: how many, and the first ones. */
export interface Damaged {
  readonly count: number;
  readonly damage: readonly Damage[];
  /** Granules that were corrected. */
  readonly corrected: Corrected;
}

/** Granules that were corrected: how many, and the first ones. */
export interface Corrected {
  readonly count: number;
  readonly places: readonly Damage[];
}

/** As `Damaged`, by a kernel, and all buffers in which it may have found errors. */
export interface KernelDamaged extends Damaged {
  readonly owners: ReadonlySet<ProtectedBuffer>;
  /**
   * Whether it stored to a part of a granule that was wrong, so that an error may now be in a check
   * word of right data.
   */
  readonly leavesDoubt: boolean;
}

/** What protected memory takes, and what was found in it. */
export interface MemoryReport {
  readonly scheme: MemoryCode;
  /**
   * Bytes of GPU memory for check words, for tables of where these are, and for mirrors of buffers
   * that can be mapped.
   */
  readonly held: number;
  /**
   * Corrected errors, and granules with more than the code corrects each time that one was found.
   */
  readonly corrected: number;
  readonly uncorrectable: number;
  /**
   * Loads that kernels corrected; the granules count as corrected when they are put right in
   * memory.
   */
  readonly correctedLoads: number;
  /** How often memory was scrubbed. */
  readonly scrubs: number;
  /** The buffers that exist. */
  readonly buffers: readonly ProtectedBufferReport[];
  /** Buffers that could be given no check words. */
  readonly unprotected: readonly UnprotectedBuffer[];
}

/** A protected buffer, and what was found in it. */
export interface ProtectedBufferReport extends Readonly<MemoryCounts> {
  readonly label: string;
  readonly size: number;
}

/** Granules that an error of the host's side names; there may be more. */
const NAMED = 8;

/**
 * Reads what kernels report about memory, gives the granules their buffers, tells of them and
 * counts.
 */
export class MemoryLog {
  readonly unprotected: UnprotectedBuffer[] = [];
  scrubs = 0;
  readonly #scheme: MemoryCode;
  readonly #buffers: ProtectedBuffers;
  readonly #constants: Constants;
  readonly #events: Events;
  #corrected = 0;
  #uncorrectable = 0;
  #correctedLoads = 0;

  constructor(scheme: MemoryCode, buffers: ProtectedBuffers, constants: Constants, events: Events) {
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
   * Reads the report of Belay's own kernels: tells of corrected granules, and returns the damaged
   * ones.
   */
  read(words: Uint32Array): Damaged {
    const corrected = memoryFindings(words, "corrected");
    const places = this.#damageIn(corrected, null);
    this.#recordCorrected(corrected.count, places);
    const uncorrectable = memoryFindings(words, "uncorrectable");
    const damage = this.#damageIn(uncorrectable, null);
    this.#recordDamaged(uncorrectable.count, damage);
    return { count: uncorrectable.count, damage, corrected: { count: corrected.count, places } };
  }

  /**
   * As `read`, for the report of a kernel that checks its memory and leaves memory itself as it is.
   */
  readKernel(words: Uint32Array, kernel: string): KernelDamaged {
    const corrected = memoryFindings(words, "corrected");
    const uncorrectable = memoryFindings(words, "uncorrectable");
    const suspect = memoryFindings(words, "suspect");
    const loads = this.#damageIn(corrected, kernel);
    const damage = this.#damageIn(uncorrectable, kernel);
    if (corrected.count > 0) {
      this.#correctedLoads += corrected.count;
      share(corrected.count, loads, "correctedLoads");
      this.#events.emit("corrected", { count: corrected.count, errors: loads.map(({ error }) => error) });
    }
    this.#recordDamaged(uncorrectable.count, damage);
    const suspects = this.#damageIn(suspect, kernel);
    const repaired = suspects.filter(({ error }) => this.#isSingle(error.syndrome!));
    this.#recordCorrected(repaired.length, repaired);
    const found = [...loads, ...damage, ...suspects];
    const named = found.flatMap(({ owner }) => owner ?? []);
    // Where not all is recorded, it may be anywhere.
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
   * Returns what is damaged where corrections are not to be believed: all buffers where not each
   * place is recorded.
   */
  disbelieved({ count, places }: Corrected): readonly Damage[] {
    const areAllKnown = places.length === count && places.every(({ owner }) => owner);
    if (areAllKnown) return places;
    return [...this.#buffers].map((owner) => ({ owner, error: this.#errorIn(owner) }));
  }

  /** Whether a syndrome is that of an error that is corrected. */
  #isSingle(syndrome: number): boolean {
    const { granuleBytes, verify } = hostCodeOf(this.#scheme);
    return verify(new Uint32Array(granuleBytes / 4), Uint32Array.of(syndrome)).uncorrectable.length === 0;
  }

  /** The host corrected bits of a buffer. */
  correctedOnHost(owner: ProtectedBuffer, count: number): void {
    this.#recordCorrected(count, [{ owner, error: this.#errorIn(owner) }]);
  }

  /** The host found damaged granules of a buffer; returns the error that names them. */
  damagedOnHost(
    owner: ProtectedBuffer,
    granules: readonly number[],
    outcome: MemoryOutcome,
  ): MemoryFaultError {
    const errors = granules.slice(0, NAMED).map((granule) => this.#errorIn(owner, granule));
    const damage = errors.map((error) => ({ owner, error }));
    this.#recordDamaged(granules.length, damage);
    for (const error of errors) this.#events.emit("memoryFault", { ...error, outcome });
    return new MemoryFaultError(errors);
  }

  #damageIn({ records }: MemoryFindings, kernel: string | null): Damage[] {
    return records.map(({ check, syndrome }) => {
      const owner = this.#buffers.ownerOf(check);
      const error = owner && this.#errorIn(owner, check - owner.first);
      const unknown = { buffer: "", byteOffset: null, granuleBytes: 0 };
      return { owner, error: { ...(error ?? unknown), kernel, syndrome } };
    });
  }

  #errorIn({ buffer, granuleBytes }: ProtectedBuffer, granule?: number): MemoryError {
    const byteOffset = granule === undefined ? null : granule * granuleBytes;
    return { buffer: buffer.label, byteOffset, granuleBytes, kernel: null, syndrome: null };
  }

  #recordCorrected(count: number, found: readonly Damage[]): void {
    if (count === 0) return;
    this.#corrected += count;
    share(count, found, "corrected");
    this.#events.emit("corrected", { count, errors: found.map(({ error }) => error) });
  }

  #recordDamaged(count: number, found: readonly Damage[]): void {
    this.#uncorrectable += count;
    share(count, found, "uncorrectable");
  }
}

/**
 * Counts findings for the buffers they are in; what is not recorded any more counts for that of the
 * last record.
 */
function share(
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
  /** Where in the arena its check word is. */
  readonly check: number;
  readonly syndrome: number;
}

/**
 * What a report says of granules that did not fit their check words: how many, and the first ones.
 */
interface MemoryFindings {
  readonly count: number;
  readonly records: readonly MemoryRecord[];
}

/** Reads one of the lists of a report. */
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

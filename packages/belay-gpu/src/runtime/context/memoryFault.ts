import { BelayError } from "../../diagnostics/belayError.ts";

/** A granule whose contents and check words do not match. */
export interface MemoryError {
  /** The label of the buffer. */
  readonly buffer: string;
  /** The byte offset of the granule in the buffer; null if unknown. */
  readonly byteOffset: number | null;
  /** The size of the granule in bytes. */
  readonly granuleBytes: number;
  /**
   * The kernel that loaded the granule; null if Belay itself found the error, on the device or on
   * the host.
   */
  readonly kernel: string | null;
  /** The syndrome of the granule; null if unknown. */
  readonly syndrome: number | null;
}

/** The errors that were corrected: the number of bits or granules, and the first of them. */
export interface Correction {
  /**
   * The number of corrected bits, or granules if they are not counted by bits. An error that
   * several loads correct counts as often.
   */
  readonly count: number;
  /** The first errors; there may be fewer than `count`. */
  readonly errors: readonly MemoryError[];
}

/**
 * The outcome for damaged data: it was computed again, it is not released, or it was released
 * although it is damaged.
 */
export type MemoryOutcome = "recovered" | "refused" | "reported";

/** An error that the code cannot correct, with its outcome. */
export interface MemoryFault extends MemoryError {
  /** The outcome for the damaged data. */
  readonly outcome: MemoryOutcome;
}

/** Errors in data that kernels may have loaded, for results that may be released. */
export interface SuspectResults {
  /** The first errors, corrected by now if the code could. */
  readonly errors: readonly MemoryError[];
  /**
   * The milliseconds for which the data was not verified. Results of it that were released in that
   * time may be wrong.
   */
  readonly milliseconds: number;
}

/** The help for a program whose data is refused. */
export const helpToReplace =
  "write the refused data again; clear or write all results of it before computing them again (BELAY332)";

/** The error for data from memory with more errors than its code corrects. */
export class MemoryFaultError extends BelayError {
  override readonly name = "MemoryFaultError";
  /** The known damaged granules. A check names the first few. */
  readonly errors: readonly MemoryError[];

  /** `reason` says why recovery failed, if it was tried. */
  constructor(errors: readonly MemoryError[], reason?: string) {
    const first = errors[0];
    const more = errors.length > 1 ? `\nand ${errors.length - 1} more` : "";
    const lost = reason === undefined ? "" : `\nnot recovered: ${reason}`;
    const what = first ? describeMemoryError(first) : "memory is damaged";
    super("memory-damaged", `${what}${more}${lost}`, { help: helpToReplace });
    this.errors = errors;
  }
}

/** Describes an error in one line: buffer and location. */
export function describeMemoryError({ buffer, byteOffset, granuleBytes, kernel }: MemoryError): string {
  const place = byteOffset === null ? "" : `, bytes ${byteOffset} to ${byteOffset + granuleBytes - 1},`;
  const found = kernel === null ? "" : `; kernel "${kernel}" loaded them`;
  return `the contents of buffer "${buffer}"${place} did not fit their check word${found}`;
}

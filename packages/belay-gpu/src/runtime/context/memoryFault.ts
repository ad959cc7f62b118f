import { BelayError } from "../../diagnostics/belayError.ts";

/** A granule whose contents and check word do not fit each other. */
export interface MemoryError {
  /** The buffer's label. */
  readonly buffer: string;
  /** Where the granule begins in the buffer; null where that is not known. */
  readonly byteOffset: number | null;
  /** Bytes of a granule. */
  readonly granuleBytes: number;
  /** The kernel that loaded it; null where Belay itself found it, on the device or on the host. */
  readonly kernel: string | null;
  /** By how much the check word is wrong; null where that is not known. */
  readonly syndrome: number | null;
}

/** Errors that were corrected: how many bits, or granules, and where the first of them were. */
export interface Correction {
  readonly count: number;
  readonly errors: readonly MemoryError[];
}

/**
 * What became of data that is lost in its place: it was made again, it is not released, or it was,
 * all the same.
 */
export type MemoryOutcome = "recovered" | "refused" | "reported";

/** An error that the code cannot correct, once its outcome is known. */
export interface MemoryFault extends MemoryError {
  readonly outcome: MemoryOutcome;
}

/** Tells how a program gets rid of a refusal. */
export const helpToReplace =
  "write the wrong data anew, and clear or write what was computed from it before it is computed again (BELAY332)";

/** An error in place of data from memory that is damaged beyond what its code corrects. */
export class MemoryFaultError extends BelayError {
  override readonly name = "MemoryFaultError";
  /** The damaged granules that are known; a check finds the first few. */
  readonly errors: readonly MemoryError[];

  /** `reason`: why the data could not be recovered, where that was tried. */
  constructor(errors: readonly MemoryError[], reason?: string) {
    const first = errors[0];
    const more = errors.length > 1 ? `\nand ${errors.length - 1} more` : "";
    const lost = reason === undefined ? "" : `\nnot recovered: ${reason}`;
    const what = first ? describeMemoryError(first) : "memory is damaged";
    super("BELAY332", `${what}${more}${lost}`, { help: helpToReplace });
    this.errors = errors;
  }
}

/** An error in one line: buffer and place. */
export function describeMemoryError({ buffer, byteOffset, granuleBytes, kernel }: MemoryError): string {
  const place = byteOffset === null ? "" : `, bytes ${byteOffset} to ${byteOffset + granuleBytes - 1},`;
  const found = kernel === null ? "" : `; kernel "${kernel}" loaded them`;
  return `the contents of buffer "${buffer}"${place} did not fit their check word${found}`;
}

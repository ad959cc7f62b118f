import type { CheckSite } from "../../compiler/contract.ts";
import { BelayError } from "../../diagnostics/belayError.ts";
import { helpToReplace } from "./memoryFault.ts";
import type { SourcePosition } from "./sourcePosition.ts";

/** What became of the data a fault may have reached. */
export type FaultOutcome = "recovered" | "refused" | "reported";

/** A detection whose outcome is known. */
export interface DetectedFault extends Detection {
  readonly outcome: FaultOutcome;
}

/**
 * Workgroups that cannot be told apart: those whose number in the grid, x first, is `index` modulo
 * `modulo`.
 */
export interface WorkgroupClass {
  readonly index: number;
  readonly modulo: number;
}

/**
 * One detected fault: the replicas of one invocation, or of one workgroup, disagreed. The place is
 * the one that tells most.
 */
export interface Detection {
  /** The kernel's name: its pipeline's label, else its entry point. */
  readonly kernel: string;
  readonly entryPoint: string;
  /** Replicas computed different words, or one of them never came. */
  readonly cause: "mismatch" | "partnerAbsent";
  /** Where the replicas were compared; null when the record itself is damaged. */
  readonly site: (CheckSite & SourcePosition) | null;
  /**
   * The workgroup as the program numbers it, or all that it may be, where replicas are compared as
   * sums.
   */
  readonly workgroup: readonly [number, number, number] | WorkgroupClass;
  /** The invocation in its workgroup; null where whole workgroups are compared. */
  readonly localIndex: number | null;
  /**
   * Where each replica was about to write, in 32-bit words from the start of the variable; null
   * where no record of it exists.
   */
  readonly wordOffsets: readonly [number | null, number | null];
  /**
   * What each replica was about to write, by replica, as text in its own type; null where no record
   * of it exists.
   */
  readonly values: readonly [string | null, string | null];
  /**
   * By how much what the replicas wrote differs, where only that is known: the difference of two
   * hashes.
   */
  readonly difference: string | null;
  /**
   * Where replicas are compared as hashes, and the work has run again without a fault: the first
   * word that the kernel's faults have changed in memory, or `"nothing"` where none differs: the
   * replica that does not store was struck, or other work has replaced the word since. Else null.
   */
  readonly stored: StoredDifference | "nothing" | null;
}

/** The first word that a fault has changed in what a kernel stores to. */
export interface StoredDifference {
  /** The variable that the program declares for the buffer or the texture. */
  readonly variable: string;
  /** The kernel's stores to it. */
  readonly stores: readonly SourcePosition[];
  /**
   * In 32-bit words from the start of a buffer's variable; of a texture, in words of its texels,
   * row by row.
   */
  readonly wordOffset: number;
  /** What stood there after the faulty run, and what the clean run has left. */
  readonly values: readonly [string, string];
  /** How many words differ in all that the kernel stores to. */
  readonly count: number;
}

/**
 * Returns a key that is the same for all that is found of one invocation, or workgroup, of a
 * kernel.
 */
export function invocationOf({ kernel, workgroup, localIndex }: Detection): string {
  return JSON.stringify([kernel, workgroup, localIndex]);
}

/** An error in place of data that a fault may have reached. */
export class FaultError extends BelayError {
  override readonly name = "FaultError";
  /** The faults recorded; a report keeps the first few of each kernel. */
  readonly faults: readonly Detection[];

  /** `reason`: why the work could not be recovered, where that was tried. */
  constructor(faults: readonly Detection[], reason?: string) {
    const first = faults[0];
    const more = faults.length > 1 ? `\nand ${faults.length - 1} more` : "";
    const lost = reason === undefined ? "" : `\nnot recovered: ${reason}`;
    const what = first ? describeFault(first) : "a kernel reported a fault";
    super("BELAY320", `${what}${more}${lost}`, { help: helpToReplace });
    this.faults = faults;
  }
}

/** A fault in one line: kernel, place, invocation and both values. */
export function describeFault(fault: Detection): string {
  const { kernel, site, workgroup, localIndex, values, wordOffsets, difference } = fault;
  const place = site ? `${site.name}, line ${site.line}, column ${site.column}` : "an unknown place";
  const invocation = localIndex === null ? "" : `, local index ${localIndex}`;
  if (fault.stored !== null)
    return `replicas of kernel "${kernel}" disagree: ${describeWorkgroup(workgroup)}${invocation} computed other hashes; ${describeStored(fault.stored)}`;
  const missing = fault.cause === "partnerAbsent" ? "nothing" : "an unrecorded value";
  // Where a replica writes is worth a word only when the other writes elsewhere.
  const elsewhere = !wordOffsets.includes(null) && wordOffsets[0] !== wordOffsets[1];
  const [first, second] = values.map((value, replica) =>
    value === null ? missing : elsewhere ? `${value} for word ${wordOffsets[replica]}` : value,
  );
  const isSame = values[0] !== null && values[0] === values[1] && !elsewhere;
  const computed = isSame ? `${first}, and not exactly one of them stored it` : `${first} and ${second}`;
  const what = difference === null ? computed : `hashes that differ by ${difference}`;
  return `replicas of kernel "${kernel}" disagree at ${place}: ${describeWorkgroup(workgroup)}${invocation} computed ${what}`;
}

/** What a fault has changed in memory, in words. */
function describeStored(stored: StoredDifference | "nothing"): string {
  if (stored === "nothing") return "nothing differs in what the kernel stores to";
  const { variable, stores, wordOffset, values, count } = stored;
  const lines = [...new Set(stores.map(({ line }) => line))];
  const by = lines.length === 0 ? "" : `, stored in line${lines.length > 1 ? "s" : ""} ${lines.join(", ")},`;
  const more = count > 1 ? `, and ${count - 1} more differ` : "";
  return `word ${wordOffset} of ${variable}${by} was ${values[0]}, and ${values[1]} when it ran again${more}`;
}

/** A workgroup as the program numbers it. */
export function describeWorkgroup(workgroup: Detection["workgroup"]): string {
  return "index" in workgroup
    ? `workgroup ${workgroup.index} of the grid, or one that is a multiple of ${workgroup.modulo} further,`
    : `workgroup (${workgroup.join(", ")})`;
}

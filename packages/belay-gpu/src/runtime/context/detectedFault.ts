import type { CheckSite } from "../../compiler/contract.ts";
import { BelayError } from "../../diagnostics/belayError.ts";
import { helpToReplace } from "./memoryFault.ts";
import type { SourcePosition } from "./sourcePosition.ts";

/** The outcome for the data that a fault may have reached. */
export type FaultOutcome = "recovered" | "refused" | "reported";

/** A detection with its outcome. */
export interface DetectedFault extends Detection {
  /** The outcome for the data that the fault may have reached. */
  readonly outcome: FaultOutcome;
}

/**
 * The workgroups that may have had a fault: those whose index in the grid, x first, is `index`
 * modulo `modulo`.
 */
export interface WorkgroupClass {
  /** The index of the first such workgroup. */
  readonly index: number;
  /** The distance between two such workgroups. */
  readonly modulo: number;
}

/**
 * One detected fault: the replicas of one invocation, or of one workgroup, disagreed. If several
 * checks found the fault, this is the most precise one.
 */
export interface Detection {
  /** The name of the kernel: the label of its pipeline, or else its entry point. */
  readonly kernel: string;
  /** The kernel's entry point. */
  readonly entryPoint: string;
  /** The cause: the replicas computed different words, or one of them never arrived. */
  readonly cause: "mismatch" | "partnerAbsent";
  /** The check that compared the replicas; null if the record itself is damaged. */
  readonly site: (CheckSite & SourcePosition) | null;
  /**
   * The workgroup in the program's numbering. If replicas are compared by sums, all workgroups that
   * it may be.
   */
  readonly workgroup: readonly [number, number, number] | WorkgroupClass;
  /** The index of the invocation in its workgroup; null if whole workgroups are compared. */
  readonly localIndex: number | null;
  /**
   * The offset at which each replica was about to write, in 32-bit words from the start of the
   * variable. Null if there is no record of the replica.
   */
  readonly wordOffsets: readonly [number | null, number | null];
  /**
   * The value that each replica was about to write, as text in its own type. Null if there is no
   * record of the replica.
   */
  readonly values: readonly [string | null, string | null];
  /** The difference of the replicas' hashes, if nothing else is known; otherwise null. */
  readonly difference: string | null;
  /**
   * The first word that the kernel's faults changed in memory. It is known only if replicas are
   * compared by hashes and re-execution had no fault; otherwise null. The value `"nothing"` means
   * that no word differs: the fault struck the replica that does not store, or other work has
   * replaced the word.
   */
  readonly stored: StoredDifference | "nothing" | null;
}

/** The first word that a fault changed in the outputs of a kernel. */
export interface StoredDifference {
  /** The variable that the program declares for the buffer or the texture. */
  readonly variable: string;
  /** The positions of the kernel's stores to the variable. */
  readonly stores: readonly SourcePosition[];
  /**
   * The offset in 32-bit words from the start of a buffer's variable. For a texture, it counts the
   * words of its texels, row by row.
   */
  readonly wordOffset: number;
  /** The word after the faulty execution, and after the clean one. */
  readonly values: readonly [string, string];
  /** The number of words that differ in all outputs of the kernel. */
  readonly count: number;
}

/** Returns a key that is the same for all findings of one invocation, or workgroup, of a kernel. */
export function invocationOf({ kernel, workgroup, localIndex }: Detection): string {
  return JSON.stringify([kernel, workgroup, localIndex]);
}

/** The error for data that a fault may have reached. */
export class FaultError extends BelayError {
  override readonly name = "FaultError";
  /** The recorded faults. A report keeps the first few of each kernel. */
  readonly faults: readonly Detection[];

  /** `reason` says why recovery failed, if it was tried. */
  constructor(faults: readonly Detection[], reason?: string) {
    const first = faults[0];
    const more = faults.length > 1 ? `\nand ${faults.length - 1} more` : "";
    const lost = reason === undefined ? "" : `\nnot recovered: ${reason}`;
    const what = first ? describeFault(first) : "a kernel reported a fault";
    super("unrecovered-fault", `${what}${more}${lost}`, { help: helpToReplace });
    this.faults = faults;
  }
}

/** Describes a fault in one line: kernel, place, invocation and both values. */
export function describeFault(fault: Detection): string {
  const { kernel, site, workgroup, localIndex, values, wordOffsets, difference } = fault;
  const place = site ? `${site.name}, line ${site.line}, column ${site.column}` : "an unknown place";
  const invocation = localIndex === null ? "" : `, local index ${localIndex}`;
  if (fault.stored !== null)
    return `replicas of kernel "${kernel}" disagree: ${describeWorkgroup(workgroup)}${invocation} computed other hashes; ${describeStored(fault.stored)}`;
  const missing = fault.cause === "partnerAbsent" ? "nothing" : "an unrecorded value";
  // The address is only given if the replicas disagree about it.
  const elsewhere = !wordOffsets.includes(null) && wordOffsets[0] !== wordOffsets[1];
  const [first, second] = values.map((value, replica) =>
    value === null ? missing : elsewhere ? `${value} for word ${wordOffsets[replica]}` : value,
  );
  const isSame = values[0] !== null && values[0] === values[1] && !elsewhere;
  const computed = isSame ? `${first}, and not exactly one of them stored it` : `${first} and ${second}`;
  const what = difference === null ? computed : `hashes that differ by ${difference}`;
  return `replicas of kernel "${kernel}" disagree at ${place}: ${describeWorkgroup(workgroup)}${invocation} computed ${what}`;
}

/** Describes the words that a fault changed in memory. */
function describeStored(stored: StoredDifference | "nothing"): string {
  if (stored === "nothing") return "nothing differs in what the kernel stores to";
  const { variable, stores, wordOffset, values, count } = stored;
  const lines = [...new Set(stores.map(({ line }) => line))];
  const by = lines.length === 0 ? "" : `, stored in line${lines.length > 1 ? "s" : ""} ${lines.join(", ")},`;
  const more = count > 1 ? `, and ${count - 1} more differ` : "";
  return `word ${wordOffset} of ${variable}${by} was ${values[0]}, and ${values[1]} when it ran again${more}`;
}

/** Describes a workgroup in the program's numbering. */
export function describeWorkgroup(workgroup: Detection["workgroup"]): string {
  return "index" in workgroup
    ? `workgroup ${workgroup.index} of the grid, or one that is a multiple of ${workgroup.modulo} further,`
    : `workgroup (${workgroup.join(", ")})`;
}

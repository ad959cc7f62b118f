import { type CheckSite, recordCause, reportWords } from "../compiler/contract.ts";
import type { Kernel } from "./kernels.ts";
import { type SourcePosition, sourcePosition } from "./sourcePosition.ts";

/** What became of the data a fault may have reached. */
export type FaultOutcome = "recovered" | "refused" | "reported";

/** A detection whose outcome is known. */
export interface Fault extends Detection {
  readonly outcome: FaultOutcome;
}

/** One detected fault: the replicas of one invocation disagreed at one place of the program's source. */
export interface Detection {
  /** The kernel's name: its pipeline's label, else its entry point. */
  readonly kernel: string;
  readonly entryPoint: string;
  /** Replicas computed different words, or one of them never came. */
  readonly cause: "mismatch" | "partnerAbsent";
  /** Where the replicas were compared; null when the record itself is damaged. */
  readonly site: (CheckSite & SourcePosition) | null;
  /** The invocation as the program numbers it. */
  readonly workgroup: readonly [number, number, number];
  readonly localIndex: number;
  /** Where each replica was about to write, in 32-bit words from the start of the variable; null where no record of it exists. */
  readonly wordOffsets: readonly [number | null, number | null];
  /** What each replica was about to write, by replica, as text in its own type; null where no record of it exists. */
  readonly values: readonly [string | null, string | null];
}

/** Data was not released because a fault may have reached it. */
export class BelayFaultError extends Error {
  override readonly name = "BelayFaultError";
  readonly code = "BELAY320";
  /** The faults recorded; a report keeps the first few of each kernel. */
  readonly faults: readonly Detection[];

  /** `reason`: why the work could not be recovered, where that was tried. */
  constructor(faults: readonly Detection[], reason?: string) {
    const first = faults[0];
    const more = faults.length > 1 ? `\nand ${faults.length - 1} more` : "";
    const lost = reason === undefined ? "" : `\nnot recovered: ${reason}`;
    super(`${first ? describeFault(first) : "a kernel reported a fault"}${more}${lost}`);
    this.faults = faults;
  }
}

/** A fault in one line: kernel, place, invocation and both values. */
export function describeFault(fault: Detection): string {
  const { kernel, site, workgroup, localIndex, values, wordOffsets } = fault;
  const place = site ? `${site.name}, line ${site.line}, column ${site.column}` : "an unknown place";
  const who = `workgroup (${workgroup.join(", ")}), local index ${localIndex}`;
  const missing = fault.cause === "partnerAbsent" ? "nothing" : "an unrecorded value";
  // Where a replica writes is worth a word only when the other writes elsewhere.
  const elsewhere = !wordOffsets.includes(null) && wordOffsets[0] !== wordOffsets[1];
  const [first, second] = values.map((value, replica) =>
    value === null ? missing : elsewhere ? `${value} for word ${wordOffsets[replica]}` : value,
  );
  return `replicas of kernel "${kernel}" disagree at ${place}: ${who} computed ${first} and ${second}`;
}

/** What one record says: one replica's side of a disagreement. */
interface Side {
  readonly key: string;
  readonly replica: number;
  readonly fault: Omit<Detection, "values" | "wordOffsets">;
  readonly value: string;
  readonly wordOffset: number;
}

/** Reads a kernel's report: records of the same place and invocation are the two sides of one fault. */
export function readFaults(kernel: Kernel, words: Uint32Array): Detection[] {
  const count = Math.min(words[reportWords.detections]!, reportWords.recordCapacity);
  const waiting = new Map<string, Side>();
  const faults: Detection[] = [];
  const settle = (side: Side, other?: Side) => {
    const sides = side.replica === 0 ? [side, other] : [other, side];
    faults.push({
      ...side.fault,
      wordOffsets: [sides[0]?.wordOffset ?? null, sides[1]?.wordOffset ?? null],
      values: [sides[0]?.value ?? null, sides[1]?.value ?? null],
    });
  };
  for (let i = 0; i < count; i++) {
    const start = reportWords.records + i * reportWords.recordStride;
    const side = readSide(kernel, words.subarray(start, start + reportWords.recordStride));
    const other = waiting.get(side.key);
    if (other && other.replica !== side.replica) {
      waiting.delete(side.key);
      settle(other, side);
    } else {
      if (other) settle(other);
      waiting.set(side.key, side);
    }
  }
  for (const side of waiting.values()) settle(side);
  return faults;
}

function readSide(kernel: Kernel, record: Uint32Array): Side {
  const [id, x, y, z, localIndex, replica, cause, wordOffset, ...value] = record as unknown as number[] as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    ...number[],
  ];
  const site = kernel.protection.checks.find((check) => check.id === id);
  return {
    key: [id, x, y, z, localIndex].join(),
    replica,
    wordOffset,
    value: formatValue(site, value),
    fault: {
      kernel: kernel.name,
      entryPoint: kernel.entryPoint,
      cause: cause === recordCause.partnerAbsent ? "partnerAbsent" : "mismatch",
      site: site ? { ...site, ...sourcePosition(kernel.source, site.span.start) } : null,
      workgroup: [x, y, z],
      localIndex,
    },
  };
}

const scratch = new DataView(new ArrayBuffer(4));

function formatValue(site: CheckSite | undefined, words: readonly number[]): string {
  const scalar = site?.scalar ?? "hash";
  const components = words.slice(0, site?.components ?? 1).map((word) => formatWord(scalar, word));
  if (components.length === 0) return "a constant";
  return components.length === 1 ? components[0]! : `(${components.join(", ")})`;
}

function formatWord(scalar: CheckSite["scalar"], word: number): string {
  scratch.setUint32(0, word);
  switch (scalar) {
    case "f32":
      return formatFloat(scratch.getFloat32(0));
    case "i32":
      return String(scratch.getInt32(0));
    case "u32":
      return String(word);
    case "bool":
      return word === 0 ? "false" : "true";
    // Node 20 has no 16-bit floats, so their bits are shown.
    case "f16":
    case "hash":
      return `0x${word.toString(16).padStart(8, "0")}`;
  }
}

/** The fewest digits that mean this f32; nine always do. */
function formatFloat(value: number): string {
  const candidates = [6, 7, 8, 9].map((digits) => Number(value.toPrecision(digits)));
  return String(candidates.find((candidate) => Math.fround(candidate) === value) ?? value);
}

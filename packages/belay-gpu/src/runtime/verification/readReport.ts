import { type CheckSite, cellsOfWorkgroup, recordCause, reportWords } from "../../compiler/contract.ts";
import { type Detection, invocationOf } from "../context/detectedFault.ts";
import { sourcePosition } from "../context/sourcePosition.ts";
import type { Unverified } from "../context/unverified.ts";
import type { ProtectedKernel } from "../pipelines/protectedKernels.ts";

/** The findings in a kernel's report. */
export interface KernelFindings {
  /** The first faults. */
  readonly faults: readonly Detection[];
  readonly unverified: readonly Unverified[];
  /**
   * The number of records, and of workgroups with cells that are not zero. It is zero if nothing
   * was found.
   */
  readonly count: number;
  /**
   * The number of invocations or workgroups whose replicas disagreed. Records without room in the
   * report come in pairs, so two of them count as one.
   */
  readonly detections: number;
  /** The number of findings that are no fault. */
  readonly undecided: number;
}

/** One record: one replica's side of a disagreement. */
interface Side {
  readonly key: string;
  readonly replica: number;
  readonly fault: Omit<Detection, "values" | "wordOffsets" | "difference" | "stored">;
  readonly value: string;
  readonly wordOffset: number;
}

const nothing: KernelFindings = { faults: [], unverified: [], count: 0, detections: 0, undecided: 0 };

/** Reads a kernel's report up to the last of its cells. */
export function readReport(kernel: ProtectedKernel, words: Uint32Array): KernelFindings {
  if (words[reportWords.detections] === 0 && words.length <= reportWords.total) return nothing;
  const records = Array.from(
    { length: Math.min(words[reportWords.detections]!, reportWords.recordCapacity) },
    (_, i) => {
      const start = reportWords.records + i * reportWords.recordStride;
      return words.subarray(start, start + reportWords.recordStride);
    },
  );
  const unverified = records.flatMap((record) => readUnverified(kernel, record) ?? []);
  const sides = records.filter((record) => !readUnverified(kernel, record));
  const cells = readCells(kernel, words.subarray(reportWords.total));
  // The cells of replicas that did not meet are not zero either. That is no sign of a fault.
  const apart = unverified.some(({ cause }) => cause === "waitedTooLong");
  const count = words[reportWords.detections]! + cells.count;
  // Replicas that saw each other in subgroup operations disagree without a fault.
  if (unverified.some(({ cause }) => cause === "subgroupsMixed"))
    return { faults: [], unverified, count, detections: 0, undecided: count };
  const recorded = oncePerInvocation(joinSides(sides.map((record) => readSide(kernel, record))));
  // The cell of a workgroup that recorded a fault is not zero either.
  const isRecorded = recorded.length > 0;
  const faults = isRecorded || apart ? recorded : cells.faults;
  if (faults.length === 0) return { faults, unverified, count, detections: 0, undecided: count };
  const unrecorded = Math.ceil((words[reportWords.detections]! - records.length) / 2);
  return {
    faults,
    unverified,
    count,
    detections: isRecorded ? recorded.length + unrecorded : cells.count,
    undecided: unverified.length + (apart ? cells.count : 0),
  };
}

/**
 * Keeps one fault of each invocation, as each later comparison finds the same fault again. A store
 * says more than a signature, and both sides say more than one.
 */
function oncePerInvocation(faults: readonly Detection[]): Detection[] {
  const kept = new Map<string, Detection>();
  for (const fault of faults) {
    const key = invocationOf(fault);
    const before = kept.get(key);
    if (!before || detailOf(fault) > detailOf(before)) kept.set(key, fault);
  }
  return [...kept.values()];
}

const detailOf = ({ site, values }: Detection): number =>
  (site && site.kind !== "signature" ? 2 : 0) + (values.includes(null) ? 0 : 1);

/** Joins records of the same check and invocation, which are the two sides of one fault. */
function joinSides(sides: readonly Side[]): Detection[] {
  const waiting = new Map<string, Side>();
  const faults: Detection[] = [];
  const settle = (side: Side, other?: Side) => {
    const sides = side.replica === 0 ? [side, other] : [other, side];
    faults.push({
      ...side.fault,
      wordOffsets: [sides[0]?.wordOffset ?? null, sides[1]?.wordOffset ?? null],
      values: [sides[0]?.value ?? null, sides[1]?.value ?? null],
      difference: null,
      stored: null,
    });
  };
  for (const side of sides) {
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

/** Returns the workgroups whose replicas had different hashes: their cells are not zero. */
function readCells(kernel: ProtectedKernel, cells: Uint32Array): Pick<KernelFindings, "faults" | "count"> {
  const site = kernel.protection.checks.find(
    ({ kind, name }) => kind === "signature" && name === kernel.entryPoint,
  );
  const differences = new Map<number, number>();
  for (const [cell, difference] of cells.entries()) {
    const index = Math.floor(cell / cellsOfWorkgroup);
    if (difference !== 0 && !differences.has(index)) differences.set(index, difference);
  }
  const first = [...differences].slice(0, reportWords.recordCapacity);
  const faults = first.map(
    ([index, difference]): Detection => ({
      kernel: kernel.name,
      entryPoint: kernel.entryPoint,
      cause: "mismatch",
      site: positioned(kernel, site),
      workgroup: { index, modulo: cells.length / cellsOfWorkgroup },
      localIndex: null,
      wordOffsets: [null, null],
      values: [null, null],
      difference: formatWord("hash", difference),
      stored: null,
    }),
  );
  return { faults, count: differences.size };
}

/** Returns undefined for a record of a fault. */
function readUnverified(kernel: ProtectedKernel, record: Uint32Array): Unverified | undefined {
  const [, x = 0, y = 0, z = 0, , , code] = record;
  const cause = (["waitedTooLong", "gridTooLarge", "subgroupsMixed"] as const).find(
    (name) => recordCause[name] === code,
  );
  return cause && { kernel: kernel.name, entryPoint: kernel.entryPoint, cause, workgroup: [x, y, z] };
}

function readSide(kernel: ProtectedKernel, record: Uint32Array): Side {
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
      site: positioned(kernel, site),
      workgroup: [x, y, z],
      localIndex,
    },
  };
}

function positioned(kernel: ProtectedKernel, site: CheckSite | undefined): Detection["site"] {
  return site ? { ...site, ...sourcePosition(kernel.source, site.span.start) } : null;
}

const scratch = new DataView(new ArrayBuffer(4));

function formatValue(site: CheckSite | undefined, words: readonly number[]): string {
  const scalar = site?.scalar ?? "hash";
  const components = words.slice(0, site?.components ?? 1).map((word) => formatWord(scalar, word));
  if (components.length === 0) return "a constant";
  return components.length === 1 ? components[0]! : `(${components.join(", ")})`;
}

/** Formats a word in its own type. */
export function formatWord(scalar: CheckSite["scalar"], word: number): string {
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
    // Node.js 20 has no 16-bit floats, so their bits are shown.
    case "f16":
    case "hash":
      return `0x${word.toString(16).padStart(8, "0")}`;
  }
}

/** Returns the shortest decimal number that rounds to this f32. Nine digits are always enough. */
function formatFloat(value: number): string {
  const candidates = [6, 7, 8, 9].map((digits) => Number(value.toPrecision(digits)));
  return String(candidates.find((candidate) => Math.fround(candidate) === value) ?? value);
}

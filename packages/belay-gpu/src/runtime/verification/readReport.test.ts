import { describe, expect, it } from "vitest";
import { type CheckSite, cellsOfWorkgroup, recordCause, reportWords } from "../../compiler/contract.ts";
import { describeFault } from "../context/detectedFault.ts";
import { describeUnverified } from "../context/unverified.ts";
import type { ProtectedKernel } from "../pipelines/protectedKernels.ts";
import { readReport } from "./readReport.ts";

const source = "fn main() {\n  out[i] = 1.5;\n}";
const check = {
  id: 1,
  kind: "store",
  functionName: "main",
  name: "out",
  span: { start: 14, end: 26 },
} as const;
const kernelWith = (site: Pick<CheckSite, "scalar" | "components">) =>
  ({
    name: "step",
    entryPoint: "main",
    source,
    protection: { checks: [{ ...check, ...site }] },
  }) as unknown as ProtectedKernel;

/** The last words of a record: replica, cause, word offset, value words. */
const report = (...records: (readonly number[])[]): Uint32Array => {
  const words = new Uint32Array(reportWords.total);
  words[reportWords.detections] = records.length;
  records.forEach((record, i) => {
    words.set([1, 2, 0, 0, 5, ...record], reportWords.records + i * reportWords.recordStride);
  });
  return words;
};
const faultsIn = (kernel: ProtectedKernel, words: Uint32Array) => readReport(kernel, words).faults;
const float = (value: number) => new Uint32Array(Float32Array.of(value).buffer)[0]!;
const { mismatch, partnerAbsent } = recordCause;

describe("readReport", () => {
  it("joins the two sides of a disagreement", () => {
    const words = report([0, mismatch, 3, float(0.1)], [1, mismatch, 3, float(0.2)]);
    const faults = faultsIn(kernelWith({ scalar: "f32", components: 1 }), words);
    expect(faults.map(describeFault)).toEqual([
      'replicas of kernel "step" disagree at out, line 2, column 3: workgroup (2, 0, 0), local index 5 computed 0.1 and 0.2',
    ]);
  });

  it("joins sides that disagree about the address, and names both addresses", () => {
    const words = report([1, mismatch, 7, 42], [0, mismatch, 3, 42]);
    const faults = faultsIn(kernelWith({ scalar: "u32", components: 1 }), words);
    expect(faults.map(({ wordOffsets }) => wordOffsets)).toEqual([[3, 7]]);
    expect(describeFault(faults[0]!)).toContain("computed 42 for word 3 and 42 for word 7");
  });

  it("has no value for a constant, which is not recorded", () => {
    const words = report([0, mismatch, 3, 0], [1, mismatch, 4, 0]);
    const [fault] = faultsIn(kernelWith({ scalar: "u32", components: 0 }), words);
    expect(describeFault(fault!)).toContain("computed a constant for word 3 and a constant for word 4");
  });

  it("keeps the only side if the other replica never came", () => {
    const [fault] = faultsIn(
      kernelWith({ scalar: "i32", components: 1 }),
      report([1, partnerAbsent, 3, 0xffffffff]),
    );
    expect([fault!.cause, fault!.values]).toEqual(["partnerAbsent", [null, "-1"]]);
    expect(describeFault(fault!)).toContain("computed nothing and -1");
  });

  it("reports repeated findings of one invocation once, by the most detailed records", () => {
    const words = report([0, mismatch, 3, 1], [0, mismatch, 3, 2], [1, mismatch, 3, 4]);
    const { faults, detections } = readReport(kernelWith({ scalar: "u32", components: 1 }), words);
    expect(faults.map(({ values }) => values)).toEqual([["2", "4"]]);
    expect(detections).toBe(1);
  });

  it("treats replicas on two paths, and their different signatures, as one fault of one invocation", () => {
    const words = report(
      [0, partnerAbsent, 3, 1],
      [0, partnerAbsent, 7, 2],
      [0, mismatch, 0, 8],
      [1, mismatch, 0, 9],
    );
    const start = (record: number) => reportWords.records + record * reportWords.recordStride;
    // The second replica takes the other branch, which has its own store.
    words.set([2], start(1));
    words[start(1) + 5] = 1;
    words.set([3], start(2));
    words.set([3], start(3));
    const checks = [
      { ...check, scalar: "u32", components: 1 },
      { ...check, id: 2, scalar: "u32", components: 1 },
      { ...check, id: 3, kind: "signature", name: "main", scalar: "hash", components: 1 },
    ];
    const kernel = { ...kernelWith({ scalar: "u32", components: 1 }), protection: { checks } };
    const { faults, count, detections } = readReport(kernel as unknown as ProtectedKernel, words);
    expect(faults.map(({ site, values }) => [site?.id, values])).toEqual([[1, ["1", null]]]);
    expect([count, detections]).toEqual([4, 1]);
  });

  it("counts two records without room as one detection", () => {
    const words = report([0, mismatch, 3, 1], [1, mismatch, 3, 4]);
    for (let record = 2; record < reportWords.recordCapacity; record++) {
      const start = reportWords.records + record * reportWords.recordStride;
      words.set([1, 2, 0, 0, 5 + (record >> 1), record & 1, mismatch, 3, record], start);
    }
    words[reportWords.detections] = reportWords.recordCapacity + 10;
    const { faults, detections } = readReport(kernelWith({ scalar: "u32", components: 1 }), words);
    expect([faults.length, detections]).toEqual([8, 13]);
  });

  it("treats a recorded fault and the cell of its workgroup as the same fault", () => {
    const words = new Uint32Array(reportWords.total + 8 * cellsOfWorkgroup);
    words.set(report([0, mismatch, 3, 1], [1, mismatch, 3, 4]));
    words[reportWords.total + 2 * cellsOfWorkgroup] = 7;
    const { faults, count, detections } = readReport(kernelWith({ scalar: "u32", components: 1 }), words);
    expect(faults.map(({ values }) => values)).toEqual([["1", "4"]]);
    expect([count, detections]).toEqual([3, 1]);
  });

  it("treats a cell that is not zero as a fault in one of its workgroups", () => {
    const words = new Uint32Array(reportWords.total + 8 * cellsOfWorkgroup);
    words[reportWords.total + 2 * cellsOfWorkgroup + 3] = 7;
    words.set([0, 0xabc, 0xdef], reportWords.total + 4 * cellsOfWorkgroup);
    const signature = { ...check, id: 2, kind: "signature", name: "main", scalar: "hash", components: 1 };
    const kernel = {
      ...kernelWith({ scalar: "u32", components: 1 }),
      protection: { checks: [check, signature] },
    };
    const { faults, count } = readReport(kernel as unknown as ProtectedKernel, words);
    expect(count).toBe(2);
    expect(faults.map(({ workgroup }) => workgroup)).toEqual([
      { index: 2, modulo: 8 },
      { index: 4, modulo: 8 },
    ]);
    expect(describeFault(faults[1]!)).toBe(
      'replicas of kernel "step" disagree at main, line 2, column 3: workgroup 4 of the grid, or one that is a multiple of 8 further, computed hashes that differ by 0x00000abc',
    );
  });

  it("names only the first cells, and counts all", () => {
    const words = new Uint32Array(reportWords.total + 64 * cellsOfWorkgroup).fill(1, reportWords.total);
    const { faults, count } = readReport(kernelWith({ scalar: "u32", components: 1 }), words);
    expect([faults.length, count]).toEqual([reportWords.recordCapacity, 64]);
  });

  it("separates findings that are no fault", () => {
    const words = report(
      [0, recordCause.waitedTooLong, 0],
      [0, recordCause.gridTooLarge, 0],
      [1, mismatch, 3, 1],
    );
    const { faults, unverified, count, detections } = readReport(
      kernelWith({ scalar: "u32", components: 1 }),
      words,
    );
    expect([faults.length, count, detections]).toEqual([1, 3, 1]);
    expect(unverified.map(describeUnverified)).toEqual([
      'workgroup (2, 0, 0) of kernel "step" waited too long for its twin',
      'an indirect dispatch of kernel "step" has no room for twice its workgroups',
    ]);
  });

  it("counts no disagreement of replicas that subgroups mixed", () => {
    const words = report([1, mismatch, 3, 1], [0, recordCause.subgroupsMixed, 0], [1, mismatch, 3, 0]);
    const { faults, unverified, ...counts } = readReport(kernelWith({ scalar: "u32", components: 1 }), words);
    expect({ faults, ...counts }).toEqual({ faults: [], count: 3, detections: 0, undecided: 3 });
    expect(unverified.map(describeUnverified)).toEqual([
      'a subgroup in workgroup (2, 0, 0) of kernel "step" did not hold neighbors of one replica',
    ]);
  });
});

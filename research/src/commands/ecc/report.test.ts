import { renderPage } from "belay-cli/internal/report/page";
import { expect, it } from "vitest";
import type { MemoryOverhead } from "../../bench/ecc/overhead.ts";
import type { EccRun } from "../results/results.ts";
import { describeEcc, summaryTable } from "./report.ts";

const times = (median: number) => ({ median, lower: median, upper: median });
const overhead: MemoryOverhead = {
  scheme: "secded128",
  unprotected: times(2),
  protected: times(2.5),
  ratio: 1.25,
  predicted: 1.31,
  kernels: [
    { name: "main", predicted: 1.31, reason: "bound by memory; something", checked: 2, passVerified: 0 },
  ],
  storage: 0.25,
  errors: 0,
  identical: true,
};
const counts = { struck: 10, corrected: 12, uncorrectable: 0, runs: 1, different: 0, left: 0 };

const run: EccRun = {
  ok: false,
  date: "2000-01-01",
  node: "v20",
  platform: "linux x64",
  adapter: { kind: "hardware", description: "a GPU", reason: "", tried: [] },
  size: "full",
  runs: 7,
  schemes: ["secded128", "secded32"],
  redundancy: "none",
  ceilings: { memory: 4e12, cache: 8e12, flops: 5e13, integers: 1e13, invocations: 2e11 },
  host: [{ scheme: "secded128", storage: 0.25, encode: 3e9, verify: 2.5e9 }],
  transfers: [
    { scheme: "none", upload: times(10), mappedUpload: times(15), download: times(20) },
    { scheme: "secded128", upload: times(40), mappedUpload: times(45), download: times(50) },
  ],
  transferBytes: 2 ** 27,
  programs: [
    {
      name: "nBody2048",
      verdict: { ok: true, message: "" },
      work: { bytes: 1, flops: 1 },
      overheads: [
        overhead,
        { ...overhead, scheme: "secded32", ratio: 1.5, predicted: 1.2, identical: false },
      ],
      automatic: { fromText: "secded32", tried: ["secded128", "secded32"], measured: "secded128" },
      faultFree: [{ scheme: "secded128", runs: 20, reports: 3, different: 0 }],
      flips: [{ scheme: "secded128", single: counts, double: { ...counts, corrected: 0, uncorrectable: 9 } }],
      failures: ["secded64: the device is lost"],
    },
  ],
};

it("shows every figure of the paper, what it lacks, and every problem", () => {
  const report = describeEcc(run);
  const text = JSON.stringify(report);
  for (const shown of [
    "N-body, by the number of bodies",
    '"2048"',
    "1.25x",
    "1.31x", // predicted
    "bound by memory; something",
    "secded32 (+20.0 %)", // the cost model's choice is a fifth slower than the best
    "secded128 (+0.0 %)", // the choice of a measurement
    "Transfers",
    "3.4 GB/s", // of 128 MiB in 40 ms
    "3.0 GB/s", // the host
    "Bits flipped at rest",
    "other bits than unprotected",
    "the device is lost",
  ]) {
    expect(text).toContain(shown);
  }
  expect(report.verdict).toMatchObject({ ok: false, headline: "1 program of 1 went wrong: nBody2048" });
  expect(renderPage(report)).toContain("<svg");
});

it("leaves out what was not measured", () => {
  const bare: EccRun = {
    ...run,
    ok: true,
    programs: [{ ...run.programs[0]!, overheads: [], faultFree: [], flips: [], failures: [] }],
  };
  expect(describeEcc(bare).sections.map(({ title }) => title)).toEqual([
    "Programs",
    "Transfers",
    "The host's side",
    "Machine",
    "Reproduce",
  ]);
  expect(summaryTable(bare).rows[0]!.map(({ text }) => text)).toEqual([
    "nBody2048",
    "right",
    ...Array(5).fill(""),
  ]);
});

/** A small made-up result of `belay bench ecc`, with every figure and a failure. */
import type { MemoryOverhead } from "belay-research/internal/bench/ecc/overhead";
import type { EccRun } from "belay-research/internal/commands/results/results";
import { machine, times } from "./machine.ts";

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

export const eccSample: EccRun = {
  ok: false,
  ...machine,
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
        {
          ...overhead,
          scheme: "secded32",
          protected: times(3),
          ratio: 1.5,
          predicted: 1.2,
          identical: false,
        },
      ],
      automatic: { fromText: "secded32", tried: ["secded128", "secded32"], measured: "secded128" },
      faultFree: [{ scheme: "secded128", runs: 20, reports: 3, different: 0 }],
      flips: [{ scheme: "secded128", single: counts, double: { ...counts, corrected: 0, uncorrectable: 9 } }],
      failures: ["secded64: the device is lost"],
    },
  ],
};

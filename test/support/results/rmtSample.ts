/** A small made-up result of `belay bench rmt`, with every figure and a failure. */
import type { Overhead } from "belay-research/internal/bench/measuring/overhead";
import type { RmtRun } from "belay-research/internal/commands/results/results";
import { machine, times } from "./machine.ts";

const configuration = {
  redundancy: "intra+lds",
  check: "store",
  channel: "subgroup",
  pairing: "adjacent",
} as const;
export const overhead: Overhead = {
  ...configuration,
  unprotected: times(2),
  protected: times(3),
  ratio: 1.5,
  detections: 0,
  unverified: 0,
  identical: true,
};

export const rmtSample: RmtRun = {
  ok: false,
  ...machine,
  size: "full",
  runs: 7,
  measure: ["overhead", "roofline", "components", "power"],
  flavors: ["intra+lds", "intra-lds", "inter"],
  commands: ["belay bench rmt --runs 7"],
  ceilings: { memory: 4e12, cache: 8e12, flops: 5e13, integers: 1e13, invocations: 2e11 },
  powerSource: "a meter",
  programs: [
    {
      name: "sum",
      verdict: { ok: true, message: "" },
      overheads: [
        overhead,
        { ...overhead, channel: "workgroup", protected: times(3.5), ratio: 1.75 },
        { ...configuration, redundancy: "intra-lds", refused: "its workgroups are too large" },
      ],
      roofline: {
        time: 2,
        bytesPerSecond: 2e12,
        flopsPerSecond: 0,
        memoryTime: 1,
        arithmeticTime: 0,
        computeTime: 1.25,
        limit: 1.25,
        counted: { loaded: 6e9, stored: 2e9, operations: 3e10 },
      },
      automatic: {
        predicted: {
          ...overhead,
          choices: [{ kernel: "add", configuration: "intra+lds store", reason: "bound by memory" }],
        },
        tuned: { ...overhead, ratio: 1.6, choices: [{ kernel: "add", configuration: "inter signature" }] },
      },
      components: [{ redundancy: "intra+lds", reserved: 1.125, computed: 1.375 }],
      power: [{ redundancy: "none", average: 321, peak: 432, readings: 50, energy: 1.5 }],
      faultFree: [{ ...configuration, runs: 20, detections: 0, unverified: 0, different: 3 }],
      left: [],
      failures: ["overhead, inter store: the device is lost"],
    },
  ],
};

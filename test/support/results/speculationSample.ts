/** A small made-up result of `belay bench speculation`. */
import type { TimedRuns } from "belay-research/internal/bench/measuring/attempt";
import type { SpeculationProgram } from "belay-research/internal/bench/speculation/program";
import type { Measured } from "belay-research/internal/bench/speculation/variant";
import type { SpeculationRun } from "belay-research/internal/commands/results/results";

export const times = (median: number, runs = 20): TimedRuns => ({
  median,
  lower: 0.9 * median,
  upper: 1.2 * median,
  runs,
});

export const measured = (moved: TimedRuns, resident: TimedRuns): Measured => ({
  moved,
  resident,
  right: true,
  rounds: 3,
  misspeculation: 0.25,
  onCpu: 0,
  plans: ["logged"],
  first: { milliseconds: 9, rounds: 4, misspeculation: 1, plans: ["logged"] },
  phases: null,
  bytes: { uploaded: 60e6, downloaded: 40e6 },
  workingBytes: 0,
});

export const program: SpeculationProgram = {
  name: "trfd",
  size: "scaled",
  iterations: 192,
  took: {},
  c: times(200, 3),
  javascript: times(400, 3),
  // 5 GB/s.
  fastestCopy: 5e6,
  variants: {
    default: measured(times(40), times(10)),
    unchecked: measured(times(0), times(5)),
    hardened: measured(times(60), times(30)),
  },
};

export const speculationSample: SpeculationRun = {
  ok: true,
  programs: [program],
  growth: [],
  size: "scaled",
  runs: 20,
  threads: 2,
  commands: [],
  compiler: "gcc",
  date: "",
  node: "",
  platform: "",
  adapter: { kind: "hardware", description: "a GPU", reason: "", tried: [] },
};

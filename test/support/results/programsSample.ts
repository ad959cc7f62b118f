/** A small made-up result of `belay bench programs`. */
import { comparedPolicies, type PolicyName } from "belay-research/internal/bench/programs/programs";
import type { ProgramsRun } from "belay-research/internal/commands/results/results";

const times = (median: number) => ({ median, lower: 0.9 * median, upper: 1.2 * median });
const policies = Object.keys(comparedPolicies) as PolicyName[];

export const programsSample: ProgramsRun = {
  ok: true,
  date: "2000-01-01",
  node: "v20",
  platform: "linux x64",
  adapter: { kind: "hardware", description: "a GPU", reason: "", tried: [] },
  size: "full",
  runs: 7,
  warmup: 20,
  programs: [
    {
      name: "add",
      source: "TensorFlow.js",
      plain: times(2),
      plainFirst: 30,
      policies: policies.map((policy, i) => ({
        policy,
        times: times(2 + 0.5 * i),
        ratio: 1 + 0.25 * i,
        first: 60,
        early: 1.5,
        identical: true,
        faults: 0,
        copies: 8,
        peakBytes: 4e6,
        heldBytes: 2e6,
      })),
    },
  ],
  host: [{ device: "plain", dispatch: 2, dispatchInPass: 1, createBuffer: 3, writeBuffer: 4 }],
};

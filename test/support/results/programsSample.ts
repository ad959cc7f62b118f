/** A small made-up result of `belay bench programs`. */
import { comparedPolicies, type PolicyName } from "belay-research/internal/bench/programs/programs";
import type { ProgramsRun } from "belay-research/internal/commands/results/results";
import { machine, times } from "./machine.ts";

const policies = Object.keys(comparedPolicies) as PolicyName[];

export const programsSample: ProgramsRun = {
  ok: true,
  ...machine,
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
        total: 1 + 0.25 * i,
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

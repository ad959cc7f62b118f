import { type CampaignOptions, runCampaign } from "belay-cli/internal/campaign/campaign";
import { campaignConfigurations } from "belay-cli/internal/campaign/model/configurations";
import { faultModels, programStructures } from "belay-cli/internal/campaign/model/faultModel";
import type { CampaignSettings } from "belay-cli/internal/campaign/model/records";

/** A campaign over some of the programs of the tests, small unless said otherwise. */
export const campaignSettings = (
  programs: readonly string[],
  changed: Partial<CampaignSettings> = {},
): CampaignSettings => ({
  programs: programs.map((name) => ({ name, digest: "1" })),
  configurations: campaignConfigurations({
    flavors: ["intra+lds"],
    checks: ["signature"],
    pairing: "adjacent",
  }),
  structures: programStructures,
  models: faultModels,
  margin: 0.2,
  bound: 0.2,
  minimum: 1,
  confidence: 0.95,
  seed: 1,
  ...changed,
});

const programs = new URL("programs.ts", import.meta.url);
// None of the faults makes a run hang, however busy the machine is.
const limits = { openLimitMs: 600_000, hangLimitMs: 600_000 };

/** The options of a planner in tests: jobs are small, so that there are many. */
export const queueOptions = { ...limits, version: "1", jobInjections: 16 };

/** The options of a worker in tests. A job of a dead worker is delivered again soon. */
export const workerOptions = {
  programs,
  digestOf: async () => "1",
  version: "1",
  jobs: 1,
  software: true,
  lockMs: 1000,
};

/** Runs it. */
export const runTestCampaign = (
  directory: string,
  settings: CampaignSettings,
  options: Partial<CampaignOptions> = {},
) =>
  runCampaign({
    directory,
    settings,
    shard: { index: 0, count: 1 },
    resume: false,
    programs,
    ...limits,
    ...options,
  });

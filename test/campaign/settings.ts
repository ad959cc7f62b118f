import { type CampaignOptions, runCampaign } from "belay-cli/internal/campaign/campaign";
import { campaignConfigurations } from "belay-cli/internal/campaign/model/configurations";
import { faultModels, programStructures } from "belay-cli/internal/campaign/model/faultModel";
import type { CampaignSettings } from "belay-cli/internal/campaign/model/records";
import { type PlannerOptions, planCampaign } from "belay-cli/internal/campaign/queue/planner";
import { RedisAddress } from "belay-cli/internal/campaign/queue/redis";
import { type WorkerOptions, workOnCampaign } from "belay-cli/internal/campaign/queue/worker";

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

/** The module with the programs of tests. */
export const programsModule = new URL("programsModule.mjs", import.meta.url);
// None of the faults makes a run hang, however busy the machine is.
const limits = { openLimitMs: 600_000, hangLimitMs: 600_000 };

/**
 * Plans a campaign over a queue. Jobs are small, so that there are many. The planner looks often,
 * so that tests wait little.
 */
export const planTestCampaign = (
  url: string,
  directory: string,
  settings: CampaignSettings,
  options: Partial<PlannerOptions> = {},
) =>
  planCampaign({
    ...limits,
    redis: new RedisAddress(url),
    directory,
    settings,
    resume: true,
    version: "1",
    jobInjections: 16,
    durations: { lookMs: 10, upkeepMs: 50, retryMs: 10, leaseMs: LEASE_MS },
    ...options,
  });

/** The time for which a planner on another machine keeps its claim, in milliseconds. */
const LEASE_MS = 500;

/** Works on a campaign over a queue. A job of a dead worker is delivered again soon. */
export const workOnTestCampaign = (url: string, options: Partial<WorkerOptions> = {}) =>
  workOnCampaign({
    redis: new RedisAddress(url),
    programs: programsModule,
    digestOf: async () => "1",
    version: "1",
    jobs: 1,
    software: true,
    lockMs: 400,
    beatMs: 50,
    ...options,
  });

/** Runs a campaign on this machine alone. */
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
    programs: programsModule,
    ...limits,
    ...options,
  });

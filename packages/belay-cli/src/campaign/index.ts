/**
 * The interface of fault campaigns, which measure the faults that a protection detects.
 * docs/guides/measure-coverage.md describes the method.
 */

export { type CampaignOptions, runCampaign } from "./campaign.ts";
export { type CampaignConfiguration, campaignConfigurations } from "./model/configurations.ts";
export { CampaignError } from "./model/failure.ts";
export {
  type Fault,
  type FaultModel,
  faultModels,
  type RestingFault,
  type StruckStructure,
  struckStructures,
} from "./model/faultModel.ts";
export { type Outcome, outcomeNames, outcomes } from "./model/outcome.ts";
export type { StruckKernel, StruckSite as SiteProfile } from "./model/profile.ts";
export type * from "./model/records.ts";
export type { Programs } from "./processes/messages.ts";
export type { CampaignProgram } from "./processes/readyProgram.ts";
export type { Explanation } from "./processes/session.ts";
export { type Replay, replay } from "./replay.ts";
export type { BitSummary, KernelSummary, LineSummary } from "./results/breakdowns.ts";
export {
  type CampaignComparison,
  type CellComparison,
  type Compared,
  compareCampaigns,
  compareWithinFlavors,
} from "./results/compare.ts";
export type { CoverageCell, Results } from "./results/results.ts";
export { type Collisions, countCollisions, type StreamDifference } from "./results/signatureCollisions.ts";
export * from "./results/statistics.ts";
export {
  type CellSummary,
  type CostSummary,
  type Summary,
  summarize,
  type Unstruck,
  type Untested,
} from "./results/summary.ts";
export { mergeShards, readResults } from "./store/merge.ts";

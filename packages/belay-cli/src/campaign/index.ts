/**
 * Fault campaigns: which faults a protection detects, measured. docs/campaigns.md describes the
 * method.
 */

export type { BitSummary, KernelSummary, LineSummary } from "./breakdowns.ts";
export { type CampaignOptions, runCampaign } from "./campaign.ts";
export {
  type CampaignComparison,
  type CellComparison,
  type Compared,
  compareCampaigns,
  compareWithinFlavors,
} from "./compare.ts";
export { type CampaignConfiguration, campaignConfigurations } from "./configurations.ts";
export { CampaignError, type CampaignFailureCode } from "./failure.ts";
export {
  type Fault,
  type FaultModel,
  faultModels,
  type RestingFault,
  type StruckStructure,
  struckStructures,
} from "./faultModel.ts";
export { mergeShards, readResults } from "./merge.ts";
export type { Programs } from "./messages.ts";
export { type Outcome, outcomeNames, outcomes } from "./outcome.ts";
export type { SiteProfile, StruckKernel } from "./profile.ts";
export type { CampaignProgress } from "./progress.ts";
export type { CampaignProgram } from "./readyProgram.ts";
export type * from "./records.ts";
export { type Replay, replay } from "./replay.ts";
export type { Cell, Results } from "./results.ts";
export type { Explanation } from "./session.ts";
export { type Collisions, countCollisions, type StreamDifference } from "./signatureCollisions.ts";
export * from "./statistics.ts";
export {
  type CellSummary,
  type CostSummary,
  type Summary,
  summarize,
  type Unstruck,
  type Untested,
} from "./summary.ts";

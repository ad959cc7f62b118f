import { BelayError, type BelayErrorOptions } from "belay-gpu/internal/diagnostics/belayError";

/** Why a campaign cannot go on; docs/diagnostics.md explains each code. */
export type CampaignFailureCode =
  | "BELAY601" // a workload that gives other results each time
  | "BELAY602" // a workload that fails without a fault
  | "BELAY603" // a workload without a kernel that can be struck
  | "BELAY604" // a workload that does not end
  | "BELAY605" // a kernel that stays unprotected
  | "BELAY606" // a store whose contents are damaged
  | "BELAY607" // a store of another campaign
  | "BELAY608" // a store that exists, or does not
  | "BELAY609" // shards that do not fit together
  | "BELAY610" // a store that cannot be written
  | "BELAY611" // an injection that is not in the store
  | "BELAY612" // a process that ends before it can do anything
  | "BELAY613"; // another adapter than the one that a campaign was begun on

/** An error that ends a campaign, or what it does with one workload, with one message. */
export class CampaignError extends BelayError {
  override readonly name = "CampaignError";
  declare readonly code: CampaignFailureCode;

  constructor(code: CampaignFailureCode, message: string, options?: BelayErrorOptions) {
    super(code, message, options);
  }
}

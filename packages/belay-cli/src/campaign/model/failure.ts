import { BelayError } from "belay-gpu/internal/diagnostics/belayError";

/** An error that ends a campaign, or what it does with one workload, with one message. */
export class CampaignError extends BelayError {
  override readonly name = "CampaignError";
}

import { BelayError } from "belay-gpu/internal/diagnostics/belayError";

/** An error that ends a campaign, or its work on one program, with one message. */
export class CampaignError extends BelayError {
  override readonly name = "CampaignError";
}

import { existsSync } from "node:fs";
import { refuseOther } from "./model/fingerprint.ts";
import type { CampaignSettings, Header, Shard } from "./model/records.ts";
import { Results } from "./results/results.ts";
import { isCutShort, Store, storePath } from "./store/store.ts";

/**
 * Opens the store of a campaign, and reads its results. With `resume`, goes on with the campaign in
 * the directory if there is one. Throws a `CampaignError` when the store cannot be used, or belongs
 * to another campaign.
 */
export function beginStore({
  directory,
  settings,
  shard,
  resume,
}: {
  readonly directory: string;
  readonly settings: CampaignSettings;
  readonly shard: Shard;
  readonly resume: boolean;
}): { store: Store; results: Results } {
  const header: Header = { kind: "header", version: 1, settings, shard };
  const isBegun = existsSync(storePath(directory)) && !isCutShort(directory);
  const store = resume && isBegun ? Store.resume(directory) : Store.create(directory, header);
  try {
    refuseOther(directory, store.begunWith.header, { settings, shard });
    // A resumed campaign tries units again whose process was lost.
    const known = store.begunWith.records.filter((record) => record.kind !== "skipped" || !record.lost);
    return { store, results: new Results(header, known) };
  } catch (error) {
    store[Symbol.dispose]();
    throw error;
  }
}

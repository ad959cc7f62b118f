import { CampaignError } from "../model/failure.ts";
import { differences, nameOf } from "../model/fingerprint.ts";
import type { Header, StoreRecord } from "../model/records.ts";
import { Results } from "../results/results.ts";
import { readStore, Store, type Stored } from "./store.ts";

/** The number of missing shards that an error names. */
const NAMED = 10;

/** Reads the store of a campaign. Throws a `CampaignError` if the store is missing or damaged. */
export function readResults(directory: string): Results {
  const { header, records } = readStore(directory);
  return new Results(header, records);
}

/**
 * Merges the shards of a campaign into a new store, which can be resumed. Throws a `CampaignError`
 * for shards of different campaigns, adapters or plans, and for repeated or missing shards.
 */
export function mergeShards(directories: readonly string[], into: string): Results {
  const stores = directories.map((directory) => ({ directory, ...readStore(directory) }));
  const first = stores[0]!;
  const { count } = first.header.shard;
  const seen = new Map<number, string>();
  for (const { directory, header } of stores) {
    const differing = differences(header.settings, first.header.settings);
    if (differing.length > 0) {
      throw new CampaignError(
        "shards-mismatch",
        `${directory} and ${first.directory} are no shards of one campaign: the first has ${differing.join(", and ")}`,
      );
    }
    if (header.shard.count !== count) {
      throw new CampaignError(
        "shards-mismatch",
        `${directory} holds shard ${nameOf(header.shard)}, and ${first.directory} ${nameOf(first.header.shard)}`,
      );
    }
    const other = seen.get(header.shard.index);
    if (other !== undefined) {
      throw new CampaignError(
        "shards-mismatch",
        `${directory} and ${other} both hold shard ${nameOf(header.shard)}`,
      );
    }
    seen.set(header.shard.index, directory);
  }
  const missing = count - seen.size;
  if (missing > 0) {
    const names: string[] = [];
    for (let index = 0; names.length < Math.min(missing, NAMED); index++) {
      if (!seen.has(index)) names.push(nameOf({ index, count }));
    }
    const others = missing > names.length ? `, and ${missing - names.length} more` : "";
    throw new CampaignError(
      "shards-mismatch",
      `of ${count} shards these are missing: ${names.join(", ")}${others}`,
    );
  }
  refuseOtherAdapters(stores);
  refuseOtherPlans(stores);
  const header: Header = { ...first.header, shard: { index: 0, count: 1 } };
  const results = new Results(header, []);
  using store = Store.create(into, header);
  for (const record of recordsOf(stores)) {
    store.append(record);
    results.add(record);
  }
  store.sync();
  return results;
}

/**
 * Refuses shards from several adapters, because their common rates would describe none of the
 * adapters.
 */
function refuseOtherAdapters(stores: readonly (Stored & { readonly directory: string })[]): void {
  const found = stores.flatMap(({ directory, records }) =>
    records.flatMap((record) => (record.kind === "adapter" ? [{ directory, on: record.description }] : [])),
  );
  const other = found.find(({ on }) => on !== found[0]!.on);
  if (!other) return;
  const [{ directory, on }] = found as [(typeof found)[0]];
  throw new CampaignError(
    "other-adapter",
    `${other.directory} was begun on ${other.on}, and ${directory} on ${on}`,
    { help: "inject all shards on adapters of one kind, with one driver" },
  );
}

/**
 * Refuses shards that drew faults from different profiles of a unit. Such faults are not parts of
 * one plan.
 */
function refuseOtherPlans(stores: readonly (Stored & { readonly directory: string })[]): void {
  const profiles = new Map<string, { readonly directory: string; readonly text: string }>();
  for (const { directory, records } of stores) {
    for (const record of records) {
      if (record.kind !== "unit") continue;
      const { program, configuration, kernels, buffers } = record;
      const unit = `${program}, ${configuration}`;
      const text = JSON.stringify([kernels, buffers]);
      const other = profiles.get(unit) ?? { directory, text };
      profiles.set(unit, other);
      if (other.text === text) continue;
      throw new CampaignError(
        "shards-mismatch",
        `${directory} and ${other.directory} counted other executions of ${unit}, so that their faults are not of one plan`,
        { help: "inject all shards with one version of Belay and of the program, on devices of one kind" },
      );
    }
  }
}

/**
 * Returns the records of all shards. The adapter, each unit and each skipped unit are taken from
 * the first shard that has them.
 */
function* recordsOf(stores: readonly Stored[]): Generator<Exclude<StoreRecord, Header>> {
  const known = new Set<string>();
  let hasAdapter = false;
  for (const { records } of stores) {
    for (const record of records) {
      if (record.kind === "header") continue;
      if (record.kind === "adapter") {
        if (hasAdapter) continue;
        hasAdapter = true;
      }
      if (record.kind === "unit" || record.kind === "skipped") {
        const name = [record.kind, record.program, record.configuration].join("/");
        if (known.has(name)) continue;
        known.add(name);
      }
      yield record;
    }
  }
}

import { CampaignError } from "../model/failure.ts";
import { differences, nameOf } from "../model/fingerprint.ts";
import type { Header, StoreRecord } from "../model/records.ts";
import { Results } from "../results/results.ts";
import { readStore, Store, type Stored } from "./store.ts";

/** Missing shards that are named. */
const NAMED = 10;

/**
 * Reads the store of a campaign. Throws a `CampaignError` where there is none, and for one that is
 * damaged.
 */
export function readResults(directory: string): Results {
  const { header, records } = readStore(directory);
  return new Results(header, records);
}

/**
 * Puts the shards of a campaign together, in a new store that can be resumed. Throws a
 * `CampaignError` for shards of different campaigns, shards that come twice, sets that are not
 * whole, and shards whose faults are not of one plan.
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
 * Refuses shards that were injected on several adapters: the rates would be those of none of them.
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
 * Refuses shards that drew faults from different profiles of a unit, which are no parts of one
 * plan.
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
 * Returns the records of all shards. The first shard's counts of what each finds out about the
 * adapter and the units.
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

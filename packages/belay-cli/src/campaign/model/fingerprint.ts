import { CampaignError } from "./failure.ts";
import type { CampaignSettings, Header, Shard } from "./records.ts";

/** Refuses to resume a store that belongs to another campaign, and names the differences. */
export function refuseOther(
  directory: string,
  stored: Header,
  wanted: { readonly settings: CampaignSettings; readonly shard: Shard },
): void {
  const differing = differences(stored.settings, wanted.settings);
  if (differing.length > 0) {
    throw new CampaignError(
      "other-campaign",
      `${directory} holds another campaign: it has ${differing.join(", and ")}`,
      { help: "resume with the flags that it was begun with, or name another --out" },
    );
  }
  const [a, b] = [stored.shard, wanted.shard];
  if (a.index !== b.index || a.count !== b.count) {
    throw new CampaignError("shards-mismatch", `${directory} holds shard ${nameOf(a)}, not ${nameOf(b)}`, {
      help: "each shard has a directory of its own",
    });
  }
}

/** Refuses to resume a store on another adapter, because its rates would mix two adapters. */
export function refuseOtherAdapter(directory: string, begunOn: string, present: string): void {
  if (begunOn === present) return;
  throw new CampaignError(
    "other-adapter",
    `${directory} was begun on ${begunOn}, and the adapter here is ${present}`,
    { help: "go on where that adapter and driver are, or name another --out" },
  );
}

/** Returns the name of a shard on the command line, counted from 1. */
export const nameOf = ({ index, count }: Shard): string => `${index + 1}/${count}`;

/** Returns the differences of two campaigns, in words about the first. */
export function differences(a: CampaignSettings, b: CampaignSettings): string[] {
  const names = Object.keys(a) as (keyof CampaignSettings)[];
  return names.flatMap((name) => {
    const [left, right] = [JSON.stringify(a[name]), JSON.stringify(b[name])];
    if (left === right) return [];
    if (name !== "programs") return [`${name} ${left} instead of ${right}`];
    const changed = a.programs.filter(({ name, digest }) =>
      b.programs.some((each) => each.name === name && each.digest !== digest),
    );
    const list = (each: CampaignSettings) => each.programs.map(({ name }) => name).join(", ");
    return changed.length > 0
      ? [`another version of ${changed.map(({ name }) => name).join(", ")}`]
      : [`the programs ${list(a)} instead of ${list(b)}`];
  });
}

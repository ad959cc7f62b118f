import { Command } from "commander";
import { type CellComparison, compareCampaigns } from "../campaign/compare.ts";
import { mergeShards, readResults } from "../campaign/merge.ts";
import { summarize } from "../campaign/summary.ts";
import type { Cell } from "../report/report.ts";
import { path } from "./benchOptions.ts";
import { comparisonTable } from "./campaignComparison.ts";
import { printCampaign } from "./campaignReport.ts";
import { exitStatus } from "./failure.ts";
import { type Io, printJson, tell } from "./io.ts";
import { alignColumns } from "./table.ts";

/** `belay campaign merge`: shards to one campaign. */
export function campaignMergeCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("merge")
    .summary("put the shards of a campaign together")
    .description("Puts the shards of a campaign together, in a directory where --resume can go on with it.")
    .argument("<directories...>", "the --out of each shard")
    .option("--out <directory>", "where the whole goes", path, "belay-campaign")
    .option("--json", "print the result as JSON", false)
    .action(async (directories: string[], { out, json }: { out: string; json: boolean }) => {
      const results = mergeShards(directories, out);
      const summary = summarize(results);
      await printCampaign(io, out, results, json, summary);
      finish(summary.ok ? exitStatus.ok : exitStatus.failed);
    });
}

/** `belay campaign compare`: what differs between two campaigns. */
export function campaignCompareCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("compare")
    .summary("compare the rates of two campaigns")
    .description(
      "Compares the rates that two campaigns have in common, with the intervals of the differences. The exit status is 1 when one leaves no difference out.",
    )
    .argument("<first>", "the --out of a campaign")
    .argument("<second>", "the --out of another")
    .option("--json", "print the differences as JSON", false)
    .action(async (first: string, second: string, { json }: { json: boolean }) => {
      const [a, b] = [first, second].map((directory) => summarize(readResults(directory)));
      const compared = compareCampaigns(a!, b!);
      if (json) printJson(io, compared);
      else tell(io.stdout, `${render(compared)}\n`);
      const isSame = compared.every(({ sdc, noticed }) => sdc.same && noticed.same);
      finish(isSame ? exitStatus.ok : exitStatus.failed);
    });
}

function render(compared: readonly CellComparison[]): string {
  if (compared.length === 0) return "The campaigns have no configuration and structure in common.";
  const { columns, rows } = comparisonTable("", compared);
  const text = ({ text, ok }: Cell) => (ok === false ? `${text} differs` : text);
  return alignColumns([columns.map(({ label }) => label), ...rows.map((row) => row.map(text))]);
}

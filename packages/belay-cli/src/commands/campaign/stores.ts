import { Command } from "commander";
import type { FaultWeights } from "../../campaign/model/weights.ts";
import { groupBy } from "../../campaign/results/breakdowns.ts";
import { type CampaignComparison, compareCampaigns } from "../../campaign/results/compare.ts";
import { summarize } from "../../campaign/results/summary.ts";
import { mergeShards, readResults } from "../../campaign/store/merge.ts";
import type { TableCell } from "../../report/report.ts";
import { path } from "../../shared/options.ts";
import { exitStatus } from "../../shared/terminal/failure.ts";
import { type Io, printJson, tell } from "../../shared/terminal/io.ts";
import { alignColumns } from "../../shared/terminal/table.ts";
import { weightsOption } from "./options.ts";
import { printCampaign } from "./report.ts";
import { comparisonTable } from "./tables.ts";

interface MergeFlags {
  readonly out: string;
  readonly weights: FaultWeights;
  readonly json: boolean;
}

/** Makes the command `belay campaign merge`, which merges shards into one campaign. */
export function campaignMergeCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("merge")
    .summary("put the shards of a campaign together")
    .description("Puts the shards of a campaign together, in a directory where --resume can go on with it.")
    .argument("<directories...>", "the --out of each shard")
    .option("--out <directory>", "where the whole goes", path, "belay-campaign")
    .addOption(weightsOption())
    .option("--json", "print the result as JSON", false)
    .action(async (directories: string[], { out, weights, json }: MergeFlags) => {
      const results = mergeShards(directories, out);
      const summary = summarize(results, weights);
      await printCampaign(io, out, results, json, summary);
      finish(summary.ok ? exitStatus.ok : exitStatus.failed);
    });
}

/**
 * Makes the command `belay campaign compare`, which shows the differences between two campaigns.
 */
export function campaignCompareCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("compare")
    .summary("compare the rates of two campaigns")
    .description(
      "Compares the rates that two campaigns have in common, with the intervals of the differences, and names what only one of them has. The exit status is 1 when an interval leaves no difference out, and when the campaigns have nothing in common.",
    )
    .argument("<first>", "the --out of a campaign")
    .argument("<second>", "the --out of another")
    .option("--json", "print the differences as JSON", false)
    .action(async (first: string, second: string, { json }: { json: boolean }) => {
      const [a, b] = [first, second].map((directory) => summarize(readResults(directory)));
      const comparison = compareCampaigns(a!, b!);
      if (json) printJson(io, comparison);
      else tell(io.stdout, `${render(comparison, [first, second])}\n`);
      const { compared } = comparison;
      const isSame = compared.every(({ sdc, noticed }) => sdc.same && noticed.same);
      finish(isSame && compared.length > 0 ? exitStatus.ok : exitStatus.failed);
    });
}

function render({ compared, unmatched }: CampaignComparison, directories: readonly [string, string]): string {
  const remarks = unmatched.flatMap((entries, i) =>
    entries.length > 0 ? [`Only ${directories[i]} has ${listEntries(entries)}.`] : [],
  );
  if (compared.length === 0) {
    return ["The campaigns have no entry in common in which faults have struck.", ...remarks].join("\n");
  }
  const { columns, rows } = comparisonTable("", compared);
  const text = ({ text, ok }: TableCell) => (ok === false ? `${text} differs` : text);
  const table = alignColumns([columns.map(({ label }) => label), ...rows.map((row) => row.map(text))]);
  return [table, ...remarks].join("\n");
}

/** Names entries by configuration, each with its structures. */
const listEntries = (entries: CampaignComparison["unmatched"][number]): string =>
  [...groupBy(entries, ({ configuration }) => configuration)]
    .map(([configuration, of]) => `${configuration} (${of.map(({ structure }) => structure).join(", ")})`)
    .join(", ");

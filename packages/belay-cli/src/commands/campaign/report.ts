import { join, resolve } from "node:path";
import { plural } from "belay-gpu/internal/diagnostics/plural";
import { groupBy } from "../../campaign/results/breakdowns.ts";
import type { Results } from "../../campaign/results/results.ts";
import { isUnfinished, type Summary, type Unstruck } from "../../campaign/results/summary.ts";
import type { Judgement, ReportDocument, Section, TableCell, TableSection } from "../../report/report.ts";
import { columnsOf, tableSection } from "../../report/sections.ts";
import { writeAtomically } from "../../shared/files/output.ts";
import { colorsFor, type Io, jsonOf, tell } from "../../shared/terminal/io.ts";
import { renderReport } from "../../shared/terminal/table.ts";
import { campaignFigures } from "./figures.ts";
import { certaintySection, nextCommands, nextSection, workersSection } from "./progress.ts";
import { proportion } from "./rates.ts";
import {
  comparisonSection,
  costsTable,
  coverageTable,
  gapsSection,
  isPart,
  kernelsTable,
  modelsTable,
  outcomesTable,
  weightedTable,
} from "./tables.ts";

/** Writes the result and the page into the campaign's directory, and prints the result. */
export async function printCampaign(
  io: Io,
  directory: string,
  results: Results,
  asJson: boolean,
  summary: Summary,
): Promise<void> {
  const json = `${jsonOf(summary)}\n`;
  const page = join(directory, "campaign.html");
  await writeAtomically(join(directory, "campaign.json"), json);
  // The libraries that draw plots take longer to load than the rest of a command.
  const { renderPage } = await import("../../report/page.ts");
  await writeAtomically(page, renderPage(describeCampaign(directory, summary, results)));
  if (asJson) io.stdout.write(json);
  else tell(io.stdout, `${renderText(directory, summary, io)}\nReport: ${resolve(page)}\n`);
}

/** Returns the report of a campaign. */
function describeCampaign(directory: string, summary: Summary, results: Results): ReportDocument {
  return {
    title: "belay campaign",
    verdict: {
      ok: judgementOf(summary),
      headline: headlineOf(summary),
      next: nextStep(directory, summary),
      detail: detailOf(summary),
    },
    sections: [
      ...problemsSection(summary),
      ...nextSection(directory, summary),
      coverageTable(summary),
      weightedTable(summary),
      outcomesTable(summary),
      ...comparisonSection(summary),
      ...campaignFigures(summary, results),
      modelsTable(summary),
      kernelsTable(summary),
      costsTable(summary),
      ...certaintySection(summary),
      ...workersSection(summary),
      ...gapsSection(summary),
      factsSection(summary),
    ],
  };
}

/** Returns the judgement of a campaign. One that is only unfinished is not wrong. */
function judgementOf({ ok, problems, cells }: Summary): Judgement {
  return !ok && problems.length === 1 && cells.some(isUnfinished) ? null : ok;
}

function nextStep(directory: string, summary: Summary): string {
  const [command] = nextCommands(directory, summary);
  if (command) return `Next: ${command}`;
  return summary.ok
    ? "Next: quote the rates with their intervals. Another seed gives an independent campaign."
    : "Next: the first table says what is wrong or missing.";
}

function headlineOf({ ok, cells, problems, settings }: Summary): string {
  const inside = cells.filter((cell) => cell.inside);
  if (!ok) return problems.length === 1 ? problems[0]! : `${problems.length} things are wrong or missing`;
  if (!inside.some(({ claimed }) => claimed!.sdc.trials > 0))
    return "Every interval is as narrow as asked for";
  return `The claimed coverage held: silent corruption is at most ${proportion(settings.bound)} wherever it is claimed`;
}

function detailOf({ settings, cells, untested, absent, adapter }: Summary): string {
  const injections = cells.reduce((sum, cell) => sum + cell.injections, 0);
  const { programs, confidence, seed } = settings;
  const where = programs.length === 1 ? programs[0]!.name : `${programs.length} programs`;
  const on = adapter === null ? "" : ` on ${adapter}`;
  return `${plural(injections, "fault")} in ${where}${on}; ${100 * confidence} % Wilson intervals, seed ${seed}.${describeEntries("Not tested", untested)}${describeEntries("Absent from the programs", absent)}`;
}

/** Names the structures of entries without a strike, each with its configurations. */
function describeEntries(title: string, unstruck: readonly Unstruck[]): string {
  if (unstruck.length === 0) return "";
  const entries = [...groupBy(unstruck, ({ structure }) => structure)].map(
    ([structure, of]) => `${structure} (${of.map(({ configuration }) => configuration).join(", ")})`,
  );
  return ` ${title}: ${entries.join(", ")}.`;
}

function problemsSection(summary: Summary): Section[] {
  const ok = judgementOf(summary);
  const rows = summary.problems.map((text): TableCell[] => [{ text, ok }]);
  return tableSection({ title: "What is wrong or missing" }, columnsOf(["Problem"], []), rows);
}

function factsSection({ adapter, settings, shard, controls, otherBits, surplus, shares }: Summary): Section {
  const rounded = [...new Set(otherBits.map(({ program }) => program))].join(", ") || "none";
  const { programs, margin, bound, minimum, confidence, seed } = settings;
  return {
    kind: "facts",
    title: "Campaign",
    facts: [
      ["Adapter", adapter ?? "none"],
      ["Programs", programs.map(({ name }) => name).join(", ")],
      [
        "Runs without a fault",
        `${controls.runs}: ${controls.detections} alarms, ${controls.different} other results`,
      ],
      ["Rounded otherwise by instrumented kernels", rounded],
      ["Margin", proportion(margin)],
      ["Bound where coverage is claimed", proportion(bound)],
      ["Effective injections, at least", String(minimum)],
      ["Confidence", proportion(confidence)],
      ["Seed", String(seed)],
      ["Shard", `${shard.index + 1} of ${shard.count}`],
      ...shares.map(({ configuration, machinery, window }): [string, string] => [
        `Executed sites of ${configuration}`,
        `${proportion(machinery)} in machinery, ${proportion(window)} in the window between comparison and store`,
      ]),
      ["Made by shards past what the rates need", `${surplus.injections}: ${surplus.silent} silent`],
    ],
  };
}

function renderText(directory: string, summary: Summary, io: Io): string {
  const color = colorsFor(io.stdout);
  const { columns, rows } = outcomesTable(summary);
  const marked = rows.map(([configuration, structure, ...rest], i): TableCell[] => {
    const cell = summary.cells[i];
    const holds = cell?.holds;
    // Entries without a strike come after the cells.
    if (cell && isUnfinished(cell))
      return [configuration!, { text: `${structure!.text}, not finished` }, ...rest];
    if (!cell || holds === undefined) return [configuration!, structure!, ...rest];
    const claimed = `${structure!.text}${isPart(cell) ? ", stuck lanes aside" : ""}`;
    return [configuration!, { text: `${claimed} ${holds ? "✓" : "✗"}`, ok: holds }, ...rest];
  });
  const problems = summary.problems.length > 1 ? summary.problems.map((text) => color.red(`- ${text}`)) : [];
  const next = nextCommands(directory, summary).map((command) => `Next: ${command}`);
  const verdict = { ok: judgementOf(summary), headline: headlineOf(summary), detail: detailOf(summary) };
  const table: TableSection = { kind: "table", title: "Outcomes", columns, rows: marked };
  return [renderReport(verdict, table, io), ...problems, ...next, ""].join("\n");
}

import { join, resolve } from "node:path";
import Table from "cli-table3";
import { compareWithinFlavors } from "../campaign/compare.ts";
import type { Outcome } from "../campaign/outcome.ts";
import type { Results } from "../campaign/results.ts";
import type { CellSummary, Summary, Tally } from "../campaign/summary.ts";
import { renderPage } from "../report/page.ts";
import type { Cell, Report, Section, TableSection } from "../report/report.ts";
import { comparisonTable } from "./campaignComparison.ts";
import { campaignFigures } from "./campaignFigures.ts";
import { atMost, percents, proportion } from "./campaignRates.ts";
import { colorsFor, type Io } from "./io.ts";
import { writeAtomically } from "./output.ts";

/** Writes the result and the page into the campaign's directory, and prints the verdict. */
export async function printCampaign(
  io: Io,
  directory: string,
  results: Results,
  asJson: boolean,
  summary: Summary,
): Promise<void> {
  const json = `${JSON.stringify(summary, null, 2)}\n`;
  const page = join(directory, "campaign.html");
  await writeAtomically(join(directory, "campaign.json"), json);
  await writeAtomically(page, renderPage(describeCampaign(summary, results)));
  io.stdout.write(asJson ? json : `${renderText(summary, io)}\nReport: ${resolve(page)}\n`);
}

/** Puts what a campaign has found into a report's terms. */
function describeCampaign(summary: Summary, results: Results): Report {
  return {
    title: "belay campaign",
    verdict: { ok: summary.ok, headline: headlineOf(summary), detail: detailOf(summary) },
    sections: [
      ...problemsSection(summary),
      coverageTable(summary),
      outcomesTable(summary),
      ...comparisonSection(summary),
      ...campaignFigures(summary, results),
      modelsTable(summary),
      kernelsTable(summary),
      costsTable(summary),
      ...gapsSection(summary),
      factsSection(summary),
    ],
  };
}

function headlineOf({ ok, cells, problems, settings }: Summary): string {
  const inside = cells.filter((cell) => cell.inside);
  if (!ok) return problems.length === 1 ? problems[0]! : `${problems.length} things are wrong or missing`;
  if (inside.length === 0) return "Every interval is as narrow as asked for";
  return `The claimed coverage held: silent corruption is at most ${proportion(settings.bound)} wherever it is claimed`;
}

function detailOf({ settings, cells, adapters }: Summary): string {
  const injections = cells.reduce((sum, cell) => sum + cell.injections, 0);
  const { programs, confidence, seed } = settings;
  return `${injections} faults in ${programs.length} programs on ${adapters.join(" and ") || "no adapter"}; ${100 * confidence} % Wilson intervals, seed ${seed}.`;
}

function problemsSection({ problems }: Summary): Section[] {
  if (problems.length === 0) return [];
  const rows = problems.map((text): Cell[] => [{ text, ok: false }]);
  return [{ kind: "table", title: "What is wrong or missing", columns: [{ label: "Problem" }], rows }];
}

/** Tables 2 and 3 of the paper on redundant multithreading, measured. */
function coverageTable({ cells, settings }: Summary): TableSection {
  const structures = settings.structures.filter((structure) =>
    cells.some((cell) => cell.structure === structure),
  );
  const configurations = [...new Set(cells.map(({ configuration }) => configuration))];
  const cellOf = (configuration: string, structure: string): Cell => {
    const cell = cells.find((each) => each.configuration === configuration && each.structure === structure);
    if (!cell) return { text: "" };
    const text = cell.inside
      ? `${cell.sdc.events} of ${cell.sdc.trials}, ${atMost(cell.sdc)}`
      : percents(cell.sdc);
    const unbroken = text.replaceAll(" %", "\u00a0%");
    return { text: unbroken, ...(cell.holds !== undefined && { ok: cell.holds }) };
  };
  return {
    kind: "table",
    title: "Silent corruption, by structure",
    lead: "Of the faults that struck: how many ended in wrong results that nobody noticed, with the interval. A mark stands where the published tables claim that all are detected, and says whether that held.",
    columns: [{ label: "Configuration" }, ...structures.map((label) => ({ label }))],
    rows: configurations.map((configuration) => [
      { text: configuration },
      ...structures.map((structure) => cellOf(configuration, structure)),
    ]),
  };
}

/** Where a flavor was measured in several ways, such as with both checks. */
function comparisonSection(summary: Summary): Section[] {
  const compared = compareWithinFlavors(summary);
  if (compared.length === 0) return [];
  const lead =
    "Differences with their intervals. A check mark: the interval has zero in it, so the two are not told apart.";
  return [{ ...comparisonTable("Ways to compare the replicas", compared), lead }];
}

const shownOutcomes: readonly (readonly [label: string, of: readonly Outcome[]])[] = [
  ["Masked", ["masked"]],
  ["Corrected", ["corrected"]],
  ["Recovered", ["recovered"]],
  ["Not recovered", ["unrecovered"]],
  ["Crash or hang", ["crash", "hang"]],
  ["Silent", ["sdc"]],
  ["Not injected", ["notInjected"]],
];
const outcomeColumns = shownOutcomes.map(([label]) => ({ label, align: "end" as const }));
const outcomeCells = ({ counts }: Tally): Cell[] =>
  shownOutcomes.map(([, of]) => ({ text: String(of.reduce((sum, outcome) => sum + counts[outcome], 0)) }));

function outcomesTable({ cells }: Summary): TableSection {
  return {
    kind: "table",
    title: "Outcomes",
    lead: "Noticed: of the faults that were not masked, those that were detected, corrected, or ended the program. Example: what belay campaign replay takes to show one.",
    columns: [
      { label: "Configuration" },
      { label: "Structure" },
      ...outcomeColumns,
      { label: "Silent, of all", align: "end" },
      { label: "Noticed", align: "end" },
      { label: "Example" },
    ],
    rows: cells.map((cell) => [
      { text: cell.configuration },
      { text: cell.structure },
      ...outcomeCells(cell),
      { text: percents(cell.sdc) },
      { text: percents(cell.noticed) },
      { text: cell.example ?? "" },
    ]),
  };
}

function modelsTable({ cells }: Summary): TableSection {
  return {
    kind: "table",
    title: "Fault models",
    columns: [
      { label: "Configuration" },
      { label: "Structure" },
      { label: "Model" },
      ...outcomeColumns,
      { label: "Silent, of all", align: "end" },
    ],
    rows: cells.flatMap((cell: CellSummary) =>
      Object.entries(cell.models).map(([model, tally]): Cell[] => [
        { text: cell.configuration },
        { text: cell.structure },
        { text: model },
        ...outcomeCells(tally),
        { text: percents(tally.sdc) },
      ]),
    ),
  };
}

function kernelsTable({ kernels }: Summary): TableSection {
  return {
    kind: "table",
    title: "Kernels",
    columns: [
      { label: "Program" },
      { label: "Kernel" },
      { label: "Configuration" },
      { label: "Structure" },
      ...outcomeColumns,
      { label: "Silent, of all", align: "end" },
    ],
    rows: kernels.map((each) => [
      { text: each.program },
      { text: each.kernel },
      { text: each.configuration },
      { text: each.structure },
      ...outcomeCells(each),
      { text: percents(each.sdc) },
    ]),
  };
}

/** Cost beside coverage. */
function costsTable({ costs, cells, settings }: Summary): TableSection {
  const rows = settings.configurations.map(({ name }): Cell[] => {
    const ratios = costs
      .filter(({ configuration }) => configuration === name)
      .map((cost) => cost.protected / cost.plain)
      .sort((a, b) => a - b);
    const of = cells.filter(({ configuration }) => configuration === name);
    const silent = of.reduce((sum, { counts }) => sum + counts.sdc, 0);
    const struck = of.reduce((sum, { sdc }) => sum + sdc.trials, 0);
    const inside = of.filter((cell) => cell.inside).map(({ structure }) => structure);
    return [
      { text: name },
      { text: ratios.length === 0 ? "" : ratios[Math.floor(ratios.length / 2)]!.toFixed(2) },
      { text: inside.join(", ") || "nothing" },
      { text: `${silent} of ${struck}` },
    ];
  });
  return {
    kind: "table",
    title: "Cost beside coverage",
    lead: "Host time of a clean run of an instrumented kernel, results read, to that of the plain program: the middle of all programs. At these sizes it is mostly verification; belay bench rmt measures the kernels.",
    columns: [
      { label: "Configuration" },
      { label: "Time, protected to plain", align: "end" },
      { label: "Claims to cover" },
      { label: "Silent, of all faults", align: "end" },
    ],
    rows,
  };
}

function gapsSection({ gaps }: Summary): Section[] {
  if (gaps.length === 0) return [];
  const columns = ["Program", "Configuration", "Kernel", "Line", "What"].map((label) => ({ label }));
  const rows = gaps.map(({ program, configuration, kernel, line, message }): Cell[] =>
    [program, configuration, kernel, String(line), message].map((text) => ({ text })),
  );
  return [{ kind: "table", title: "Outside the sphere of replication", columns, rows }];
}

function factsSection({ adapters, settings, shard, controls, otherBits }: Summary): Section {
  const rounded = [...new Set(otherBits.map(({ program }) => program))].join(", ") || "none";
  const { programs, margin, bound, minimum, confidence, seed } = settings;
  return {
    kind: "facts",
    title: "Campaign",
    facts: [
      ["Adapter", adapters.join(" and ")],
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
    ],
  };
}

function renderText(summary: Summary, io: Io): string {
  const color = colorsFor(io.stdout);
  const { columns, rows } = outcomesTable(summary);
  const table = new Table({
    head: columns.map(({ label }) => label),
    colAligns: columns.map(({ align }) => (align === "end" ? "right" : "left")),
    style: { head: [], border: [], compact: true },
  });
  table.push(
    ...rows.map((row, i) => {
      const { holds } = summary.cells[i]!;
      const [configuration, structure, ...rest] = row.map(({ text }) => text);
      const mark = holds === undefined ? "" : holds ? color.green(" ✓") : color.red(" ✗");
      return [configuration!, `${structure}${mark}`, ...rest];
    }),
  );
  const paint = summary.ok ? color.green : color.red;
  const problems = summary.problems.length > 1 ? summary.problems.map((text) => color.red(`- ${text}`)) : [];
  return [
    paint(color.bold(headlineOf(summary))),
    color.dim(detailOf(summary)),
    ...problems,
    table.toString(),
    "",
  ].join("\n");
}

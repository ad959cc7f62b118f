/** The findings of a campaign as tables of a report. */
import type { StruckStructure } from "../../campaign/model/faultModel.ts";
import type { Outcome } from "../../campaign/model/outcome.ts";
import type { Tally } from "../../campaign/results/breakdowns.ts";
import {
  type CellComparison,
  compareWithinFlavors,
  type RateComparison,
} from "../../campaign/results/compare.ts";
import { type CellSummary, isEntry, isUnfinished, type Summary } from "../../campaign/results/summary.ts";
import type { Column, Section, TableCell, TableSection } from "../../report/report.ts";
import { columnsOf, tableSection } from "../../report/sections.ts";
import { atMost, percents, proportion } from "./rates.ts";

/** Returns the measured counterpart of tables 2 and 3 in the paper on redundant multithreading. */
export function coverageTable({ cells, untested, absent, settings }: Summary): TableSection {
  const entries = [...cells, ...untested, ...absent];
  const configurations = settings.configurations
    .map(({ name }) => name)
    .filter((name) => entries.some(({ configuration }) => configuration === name));
  const cellOf = (configuration: string, structure: StruckStructure): TableCell => {
    const isIt = isEntry({ configuration, structure });
    const missed = untested.find(isIt);
    if (missed) return { text: "not tested", ...(missed.inside && { ok: false }) };
    if (absent.some(isIt)) return { text: "absent" };
    const cell = cells.find(isIt);
    if (!cell) return { text: "" };
    const { claimed } = cell;
    const text = claimed
      ? `${claimed.sdc.events} of ${claimed.sdc.trials}, ${atMost(claimed.sdc)}${isPart(cell) ? ", stuck lanes aside" : ""}`
      : percents(cell.sdc);
    const whole = `${text}${isUnfinished(cell) ? ", not finished" : ""}`;
    return { text: unbroken(whole), ...(cell.holds !== undefined && { ok: cell.holds }) };
  };
  return {
    kind: "table",
    title: "Silent corruption, by structure",
    lead: "Of the faults that struck: how many ended in wrong results that nobody noticed, with the interval. A mark stands where the published tables claim that all are detected, and says whether that held. Not tested: no fault has struck, so nothing is known. Absent: the programs execute nothing of the structure.",
    columns: [{ label: "Configuration" }, ...settings.structures.map((label) => ({ label }))],
    rows: configurations.map((configuration) => [
      { text: configuration },
      ...settings.structures.map((structure) => cellOf(configuration, structure)),
    ]),
  };
}

/** Keeps the words of counts, rates and intervals on one line. */
const unbroken = (text: string): string =>
  text.replace(/\d+ of \d+|at most [\d.e-]+ %|\([^)]*\)| %/g, (words) => words.replaceAll(" ", "\u00a0"));

/** Returns the rates with fault models weighted, beside the table of {@link coverageTable}. */
export function weightedTable({ weighted: { weights, cells }, settings }: Summary): TableSection {
  const share = Object.values(weights.models).reduce((sum, weight) => sum + weight, 0);
  const shares = Object.entries(weights.models).map(
    ([model, weight]) => `${model} ${proportion(weight / share)}`,
  );
  const cellOf = (configuration: string, structure: StruckStructure): TableCell => {
    const cell = cells.find(isEntry({ configuration, structure }));
    if (!cell?.sdc) return { text: cell ? "no weights" : "" };
    const text = cell.inside ? atMost(cell.sdc) : percents(cell.sdc);
    const missed = cell.unstruck.join(", ");
    const without = missed === "" ? "" : `, without ${missed}`;
    return { text: unbroken(`${text}${without}`) };
  };
  return {
    kind: "table",
    title: `Silent corruption, weighted by ${weights.name}`,
    lead: `The same faults, with models in the shares of a study: ${shares.join(", ")}. Source: ${weights.sources.join("; ")}. Where coverage is claimed, only claimed faults count. No weights: the study says nothing of the structure's models. Without a model: it has a weight, and no fault of it has struck.`,
    columns: [{ label: "Configuration" }, ...settings.structures.map((label) => ({ label }))],
    rows: [...new Set(cells.map(({ configuration }) => configuration))].map((configuration) => [
      { text: configuration },
      ...settings.structures.map((structure) => cellOf(configuration, structure)),
    ]),
  };
}

/** Returns whether the configuration claims only some of the faults injected into the structure. */
export const isPart = ({ claimed, injections }: CellSummary): boolean =>
  claimed !== undefined && claimed.injections < injections;

/**
 * Returns the comparison of configurations of the same flavor, for example with different checks.
 */
export function comparisonSection(summary: Summary): Section[] {
  const compared = compareWithinFlavors(summary);
  if (compared.length === 0) return [];
  const lead =
    "Differences with their intervals. A check mark: the interval has zero in it, so the two are not told apart.";
  return [{ ...comparisonTable("Ways to compare the replicas", compared), lead }];
}

const shownOutcomes: readonly (readonly [label: string, of: readonly Outcome[]])[] = [
  ["Masked", ["masked"]],
  ["Below bound", ["belowBound"]],
  ["Corrected", ["corrected"]],
  ["Recovered", ["recovered"]],
  ["Not recovered", ["unrecovered"]],
  ["Crash or hang", ["crash", "hang"]],
  ["Silent", ["sdc"]],
  ["Not injected", ["notInjected"]],
];
/** Inserts a column for each outcome before the columns with these labels. */
function withOutcomes(
  names: readonly string[],
  rates: readonly string[],
  remarks: readonly string[] = [],
): Column[] {
  const counts = shownOutcomes.map(([label]): Column => ({ label, align: "end", isCount: true }));
  return [...columnsOf(names, []), ...counts, ...columnsOf([], rates, remarks)];
}
const outcomeCells = ({ counts }: Tally): TableCell[] =>
  shownOutcomes.map(([, of]) => ({ text: String(of.reduce((sum, outcome) => sum + counts[outcome], 0)) }));

/** Returns the outcomes of all entries. Entries with nothing to strike come last. */
export function outcomesTable({ cells, untested, absent }: Summary): TableSection {
  const unstruck = [
    ...untested
      .filter((entry) => !cells.some(isEntry(entry)))
      .map((entry) => ({ entry, text: "not tested" })),
    ...absent.map((entry) => ({ entry, text: "absent" })),
  ];
  return {
    kind: "table",
    title: "Outcomes",
    lead: "Noticed: of the faults that were not masked, those that were detected, corrected, or ended the program. Outcomes that no fault had have no column. Example: what belay campaign replay takes to show one.",
    columns: withOutcomes(["Configuration", "Structure"], ["Silent, of all", "Noticed"], ["Example"]),
    rows: [
      ...cells.map((cell): TableCell[] => [
        { text: cell.configuration },
        { text: cell.structure },
        ...outcomeCells(cell),
        { text: cell.sdc.trials === 0 ? "not tested" : percents(cell.sdc) },
        { text: percents(cell.noticed) },
        { text: cell.example ?? "" },
      ]),
      ...unstruck.map(({ entry, text }): TableCell[] => [
        { text: entry.configuration },
        { text: entry.structure },
        ...shownOutcomes.map(() => ({ text: "" })),
        { text },
        { text: "" },
        { text: "" },
      ]),
    ],
  };
}

export function modelsTable({ cells }: Summary): TableSection {
  return {
    kind: "table",
    title: "Fault models",
    columns: withOutcomes(["Configuration", "Structure", "Model"], ["Silent, of all"]),
    rows: cells.flatMap((cell: CellSummary) =>
      Object.entries(cell.models).map(([model, tally]): TableCell[] => [
        { text: cell.configuration },
        { text: cell.structure },
        { text: model },
        ...outcomeCells(tally),
        { text: percents(tally.sdc) },
      ]),
    ),
  };
}

export function kernelsTable({ kernels }: Summary): TableSection {
  return {
    kind: "table",
    title: "Kernels",
    columns: withOutcomes(["Program", "Kernel", "Configuration", "Structure"], ["Silent, of all"]),
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

/** Returns the table of cost and coverage. */
export function costsTable({ costs, cells, untested, absent, settings }: Summary): TableSection {
  const rows = settings.configurations.map(({ name }): TableCell[] => {
    const ratios = costs
      .filter(({ configuration }) => configuration === name)
      .map((cost) => cost.protected / cost.plain)
      .sort((a, b) => a - b);
    const of = cells.filter(({ configuration }) => configuration === name);
    const silent = of.reduce((sum, { counts }) => sum + counts.sdc, 0);
    const struck = of.reduce((sum, { sdc }) => sum + sdc.trials, 0);
    const inside = [
      ...new Set(
        [...of, ...[...untested, ...absent].filter(({ configuration }) => configuration === name)]
          .filter((entry) => entry.inside)
          .map(({ structure }) => structure),
      ),
    ];
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

export function gapsSection({ gaps }: Summary): Section[] {
  return tableSection(
    { title: "Outside the sphere of replication" },
    columnsOf(["Program", "Configuration", "Kernel", "Line", "What"], []),
    gaps.map(({ program, configuration, kernel, line, message }): TableCell[] =>
      [program, configuration, kernel, String(line), message].map((text) => ({ text })),
    ),
  );
}

/**
 * Returns a comparison as a table. The mark says whether the interval of the difference contains
 * zero.
 */
export function comparisonTable(
  title: string,
  compared: readonly CellComparison[],
): Required<Pick<TableSection, "kind" | "title" | "columns" | "rows">> {
  return {
    kind: "table",
    title,
    columns: [
      { label: "Configurations" },
      { label: "Structure" },
      { label: "Silent, first", align: "end" },
      { label: "Second", align: "end" },
      { label: "Difference in points", align: "end" },
      { label: "Noticed, first", align: "end" },
      { label: "Second", align: "end" },
      { label: "Difference in points", align: "end" },
    ],
    rows: compared.map(({ configurations, structure, sdc, noticed }) => [
      { text: [...new Set(configurations)].join(", ") },
      { text: structure },
      ...cellsOf(sdc),
      ...cellsOf(noticed),
    ]),
  };
}

function cellsOf({ rates, difference, same }: RateComparison): TableCell[] {
  const points = (value: number) => `${value < 0 ? "" : "+"}${(100 * value).toFixed(2)}`;
  const { low, high } = difference;
  const text = `${points(difference.difference)} (${points(low)} to ${points(high)})`;
  return [...rates.map((rate) => ({ text: percents(rate) })), { text, ok: same }];
}

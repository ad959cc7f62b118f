import Table from "cli-table3";
import type { Judgement, ReportVerdict, TableSection } from "../../report/report.ts";
import { colorsFor, type Io } from "./io.ts";

/** Aligns columns with spaces alone, indented by two. */
export function alignColumns(rows: readonly (readonly string[])[]): string {
  const table = new Table({
    chars: Object.fromEntries(borders.map((part) => [part, ""])),
    style: { head: [], border: [], "padding-left": 2, "padding-right": 0 },
  });
  table.push(...rows.map((row) => [...row]));
  return table.toString().replaceAll(/ +$/gm, "");
}

/** Renders a report's verdict and its main table for a terminal. */
export function renderReport(
  { ok, headline, detail }: Omit<ReportVerdict, "next">,
  table: TableSection,
  io: Io,
): string {
  const color = colorsFor(io.stdout);
  return [painterOf(ok, color)(color.bold(headline)), color.dim(detail), renderTable(table, io)].join("\n");
}

/** Returns the color for a judgement: green for right, red for wrong, yellow for missing. */
export function painterOf(ok: Judgement, color: ReturnType<typeof colorsFor>): (text: string) => string {
  if (ok === null) return color.yellow;
  return ok ? color.green : color.red;
}

function renderTable({ columns, rows }: TableSection, io: Io): string {
  const color = colorsFor(io.stdout);
  const table = new Table({
    head: columns.map(({ label }) => label),
    colAligns: columns.map(({ align }) => (align === "end" ? "right" : "left")),
    style: { head: [], border: [], compact: true },
  });
  table.push(
    ...rows.map((row) => row.map(({ text, ok }) => (ok === undefined ? text : painterOf(ok, color)(text)))),
  );
  return table.toString();
}

const borders = [
  "top",
  "top-mid",
  "top-left",
  "top-right",
  "bottom",
  "bottom-mid",
  "bottom-left",
  "bottom-right",
  "left",
  "left-mid",
  "mid",
  "mid-mid",
  "right",
  "right-mid",
  "middle",
];

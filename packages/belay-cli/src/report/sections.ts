/** The sections of reports that several commands share. */
import type { Bar, BarsSection, Column, TableCell, TableSection, ValueInterval } from "./report.ts";

interface Titled {
  readonly title: string;
  readonly lead?: string;
}

/** Returns columns of names, then of numbers, then of remarks. */
export function columnsOf(
  names: readonly string[],
  numbers: readonly string[],
  remarks: readonly string[] = [],
): Column[] {
  const start = (label: string): Column => ({ label });
  return [
    ...names.map(start),
    ...numbers.map((label): Column => ({ label, align: "end" })),
    ...remarks.map(start),
  ];
}

/** Returns a table; no section if it has no rows. */
export function tableSection(
  titled: Titled,
  columns: readonly Column[],
  rows: readonly (readonly TableCell[])[],
): TableSection[] {
  return rows.length === 0 ? [] : [{ kind: "table", ...titled, columns, rows }];
}

/** Returns bars; no section if there is nothing to draw. */
export function barsSection({
  bars,
  ...section
}: Omit<BarsSection, "kind" | "bars"> & { readonly bars: readonly (Bar | undefined)[] }): BarsSection[] {
  const drawn = bars.filter((bar) => bar !== undefined);
  return drawn.length === 0 ? [] : [{ kind: "bars", ...section, bars: drawn }];
}

/** Returns a bar that is labeled with its value, or undefined without a value. */
export const barOf = (
  group: string,
  series: string,
  value: number | undefined,
  label = value?.toFixed(2),
  interval?: ValueInterval,
): Bar | undefined =>
  value === undefined ? undefined : { group, series, value, label: label!, ...(interval && { interval }) };

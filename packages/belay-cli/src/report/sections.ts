/** Sections of reports, from what several commands have to say. */
import type { Bar, BarsSection, Cell, Column, TableSection } from "./report.ts";

interface Titled {
  readonly title: string;
  readonly lead?: string;
}

/** Columns of names, then of numbers, then of remarks. */
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

/** A table; no section when it has no rows. */
export function tableSection(
  titled: Titled,
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
): TableSection[] {
  return rows.length === 0 ? [] : [{ kind: "table", ...titled, columns, rows }];
}

/** Bars; no section when there is nothing to draw. */
export function barsSection({
  bars,
  ...section
}: Omit<BarsSection, "kind" | "bars"> & { readonly bars: readonly (Bar | undefined)[] }): BarsSection[] {
  const drawn = bars.filter((bar) => bar !== undefined);
  return drawn.length === 0 ? [] : [{ kind: "bars", ...section, bars: drawn }];
}

/** A bar, labelled with its value; undefined where there is no value. */
export const barOf = (
  group: string,
  series: string,
  value: number | undefined,
  label = value?.toFixed(2),
): Bar | undefined => (value === undefined ? undefined : { group, series, value, label: label! });

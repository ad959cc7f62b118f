import type { CellComparison, Compared } from "../../campaign/compare.ts";
import type { Cell, TableSection } from "../../report/report.ts";
import { percents } from "./campaignRates.ts";

/** A comparison as a table; the mark says whether the interval of the difference has zero in it. */
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

function cellsOf({ rates, difference, same }: Compared): Cell[] {
  const points = (value: number) => `${value < 0 ? "" : "+"}${(100 * value).toFixed(2)}`;
  const { low, high } = difference;
  const text = `${points(difference.difference)} (${points(low)} to ${points(high)})`;
  return [...rates.map((rate) => ({ text: percents(rate) })), { text, ok: same }];
}

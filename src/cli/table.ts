import Table from "cli-table3";

/** Aligns columns with spaces alone, indented by two. */
export function alignColumns(rows: readonly (readonly string[])[]): string {
  const table = new Table({
    chars: Object.fromEntries(borders.map((part) => [part, ""])),
    style: { head: [], border: [], "padding-left": 2, "padding-right": 0 },
  });
  table.push(...rows.map((row) => [...row]));
  return table.toString().replaceAll(/ +$/gm, "");
}

const borders = [
  ...["top", "top-mid", "top-left", "top-right", "bottom", "bottom-mid", "bottom-left", "bottom-right"],
  ...["left", "left-mid", "mid", "mid-mid", "right", "right-mid", "middle"],
];

/** Tables of measurements as plots: bars in their cells, and headers that sort. */

/** A table cell with a number. */
interface Measured {
  readonly cell: HTMLElement;
  readonly value: number;
  readonly unit: string;
}

/**
 * Returns the number of a cell and its unit. Words without a digit may follow. Undefined for other
 * cells.
 */
function measuredIn(cell: HTMLElement): Measured | undefined {
  const [, number, unit] =
    /^([\d,]+(?:\.\d+)?)\s?(%|[mµn]?s|[kMG]?B(?:\/s)?|[x×])?(?:\s[a-z][^\d]*)?$/.exec(
      cell.textContent!.trim(),
    ) ?? [];
  return number === undefined
    ? undefined
    : { cell, value: Number(number.replaceAll(",", "")), unit: unit ?? "" };
}

/** Returns the largest value that bars are drawn to scale for: an outlier does not count. */
export function scaleOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const limit = 5 * sorted[Math.floor(0.8 * (sorted.length - 1))]!;
  return sorted.findLast((value) => value <= limit) ?? 1;
}

/** Draws bars into all tables of a page, and lets their headers sort. A table is changed once. */
export function drawMeasuredTables(page: ParentNode): void {
  for (const table of page.querySelectorAll<HTMLTableElement>(".vp-doc table:not(.measured)")) draw(table);
}

function draw(table: HTMLTableElement): void {
  const headers = [...table.querySelectorAll<HTMLElement>("thead th")];
  const rows = [...table.querySelectorAll<HTMLElement>("tbody tr")];
  const columns = headers.map((_, column) =>
    rows.map((row) => measuredIn(row.children[column] as HTMLElement)),
  );
  const isMeasured = (column: readonly (Measured | undefined)[]) => {
    const found = column.filter((each) => each !== undefined);
    return (
      found.length >= 3 &&
      found.length >= 0.7 * rows.length &&
      new Set(found.map((each) => each.unit)).size === 1
    );
  };
  const drawn = columns.flatMap((column, place) =>
    place > 0 && isMeasured(column) ? [{ place, column }] : [],
  );
  if (drawn.length === 0) return;
  table.classList.add("measured");
  const all = drawn.flatMap(({ column }) => column.filter((each) => each !== undefined));
  // Columns with one unit share a scale, so that their bars compare.
  const scales = new Map(
    [...new Set(all.map(({ unit }) => unit))].map((unit) => [
      unit,
      scaleOf(all.filter((each) => each.unit === unit).map(({ value }) => value)),
    ]),
  );
  for (const { cell, value, unit } of all) {
    const share = value / scales.get(unit)!;
    cell.classList.add("bar");
    cell.classList.toggle("beyond", share > 1);
    cell.style.setProperty("--share", `${(100 * Math.min(1, share)).toFixed(1)}%`);
  }
  for (const { place, column } of drawn) sortBy(headers, headers[place]!, rows, column);
}

/** Makes a header sort the rows: from large to small, from small to large, as they were. */
function sortBy(
  headers: readonly HTMLElement[],
  header: HTMLElement,
  rows: readonly HTMLElement[],
  column: readonly (Measured | undefined)[],
): void {
  const button = header.ownerDocument.createElement("button");
  button.type = "button";
  button.append(...header.childNodes);
  header.append(button);
  button.addEventListener("click", () => {
    const next = { descending: "ascending", ascending: "none", none: "descending" } as const;
    const order = next[(header.getAttribute("aria-sort") ?? "none") as keyof typeof next];
    for (const each of headers) each.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", order);
    const sign = order === "descending" ? -1 : 1;
    const valueAt = (row: number) => column[row]?.value ?? Number.POSITIVE_INFINITY * sign;
    const places = rows.map((_, row) => row);
    if (order !== "none") places.sort((a, b) => sign * (valueAt(a) - valueAt(b)) || a - b);
    rows[0]!.parentElement!.append(...places.map((row) => rows[row]!));
  });
}

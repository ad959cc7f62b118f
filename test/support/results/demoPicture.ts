import { drawBars } from "belay-cli/internal/report/bars";
import { type Html, html, trusted } from "belay-cli/internal/report/html";
import {
  type BarsSection,
  classOf,
  type ReportDocument,
  type TableSection,
} from "belay-cli/internal/report/report";
import { palette } from "belay-cli/internal/report/stylesheet";

/** The layout in pixels. Widths of text are estimates, because nothing here can measure a font. */
const margin = 28;
const rowHeight = 30;
const letterWidth = 7.6;
const columnGap = 28;

/**
 * Draws the verdict, first table and first bars of a report as one SVG image. The image follows the
 * light or dark color scheme.
 */
export function drawPicture({ title, verdict, sections }: ReportDocument): string {
  const table = sections.find((section): section is TableSection => section.kind === "table");
  const bars = sections.find((section): section is BarsSection => section.kind === "bars");
  const drawing = bars && drawBars(bars);

  const tableTop = 108;
  const tableWidth = table ? columnStarts(table).at(-1)! - columnGap : 0;
  const tableHeight = table ? (table.rows.length + 1) * rowHeight : 0;
  const barsTop = tableTop + tableHeight + 24;
  const width = Math.max(tableWidth, drawing?.width ?? 0) + 2 * margin;
  const height = barsTop + (drawing ? drawing.height + 24 : 0) + margin / 2;

  const picture = html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${verdict.headline}">
<style>${trusted(palette)}
text { font-family: system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--text); }
.muted { fill: var(--muted); } .ok { fill: var(--ok); } .bad { fill: var(--bad); } .open { fill: var(--open); }
.bars { color: var(--text); }
</style>
<rect width="${width}" height="${height}" rx="10" style="fill: var(--surface); stroke: var(--line)"/>
<g transform="translate(${margin} 0)">
<text class="muted" y="36" font-size="13">${title}</text>
<text class="${classOf(verdict.ok)}" y="66" font-size="22" font-weight="700">${verdict.headline}</text>
<text class="muted" y="88" font-size="13">${verdict.detail}</text>
${table ? drawTable(table, tableTop, tableWidth) : undefined}
${bars && drawing ? drawFigure(bars, drawing.markup, barsTop) : undefined}
</g>
</svg>
`;
  return picture.text;
}

/** Returns the start of each column, and the start that a further column would have. */
function columnStarts({ columns, rows }: TableSection): number[] {
  const starts = [0];
  columns.forEach(({ label }, index) => {
    const texts = [
      label,
      ...rows.map((row) => `${row[index]!.ok === undefined ? "" : "✓ "}${row[index]!.text}`),
    ];
    const longest = Math.max(...texts.map((text) => text.length));
    starts.push(starts.at(-1)! + longest * letterWidth + columnGap);
  });
  return starts;
}

function drawTable(table: TableSection, top: number, width: number): Html {
  const starts = columnStarts(table);
  const place = (index: number) =>
    table.columns[index]!.align === "end"
      ? html`x="${starts[index + 1]! - columnGap}" text-anchor="end"`
      : html`x="${starts[index]!}"`;
  const head = table.columns.map(
    ({ label }, index) => html`<text class="muted" ${place(index)} y="20" font-size="12">${label}</text>`,
  );
  const rows = table.rows.map((row, number) => {
    const y = (number + 1) * rowHeight;
    const cells = row.map(({ text, ok }, index) => {
      const mark = ok === undefined ? "" : ok ? "✓ " : "✗ ";
      const style = ok === undefined ? "" : classOf(ok);
      return html`<text class="${style}" ${place(index)} y="${y + 20}" font-size="14">${mark}${text}</text>`;
    });
    return html`<line x2="${width}" y1="${y}" y2="${y}" style="stroke: var(--line)"/>${cells}\n`;
  });
  return html`<g transform="translate(0 ${top})">${head}\n${rows}</g>`;
}

function drawFigure({ series }: BarsSection, markup: string, top: number): Html {
  const keys = series.map(
    (name, i) =>
      html`<g transform="translate(${i * 140} 0)"><rect width="11" height="11" rx="2" style="fill: var(--series-${i + 1})"/><text x="18" y="10" font-size="12">${name}</text></g>`,
  );
  return html`<g transform="translate(0 ${top})">${keys}<g transform="translate(0 20)">${trusted(markup)}</g></g>`;
}

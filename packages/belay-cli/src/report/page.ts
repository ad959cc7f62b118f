import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { drawBars, figureSizes, type Screen } from "./bars.ts";
import { type Html, html, trusted } from "./html.ts";
import {
  type BarsSection,
  type Column,
  classOf,
  type Facts,
  type Listing,
  type RangesSection,
  type ReportDocument,
  type ReportedFault,
  type Section,
  type TableCell,
} from "./report.ts";
import { stylesheet } from "./stylesheet.ts";

/** Renders a report as one HTML file without scripts, fonts or requests. */
export function renderPage({ title, verdict, sections }: ReportDocument): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${verdict.ok === null ? "…" : verdict.ok ? "✓" : "✗"} ${title}</title>
<style>${trusted(stylesheet)}</style>
</head>
<body>
<header>
<p class="title">${title}</p>
<h1 class="${classOf(verdict.ok)}">${verdict.headline}</h1>
<p class="next">${verdict.next}</p>
<p>${verdict.detail}</p>
</header>
<main>
${sections.map(renderSection)}
</main>
</body>
</html>
`;
  return page.text;
}

function renderSection(section: Section): Html {
  return html`<section>
<h2>${section.title}</h2>
${section.lead ? html`<p>${section.lead}</p>` : undefined}
${renderBody(section)}
</section>
`;
}

function renderBody(section: Section): Html {
  switch (section.kind) {
    case "table":
      return renderTable(section.title, section.columns, section.rows);
    case "bars":
      return renderFigure(section, (screen) => drawBars(section, screen).markup, section.noise);
    case "ranges":
      return renderFigure(section, (screen) => drawRanges(section, screen));
    case "listings":
      return html`<div class="faults">${section.listings.map((listing, i) =>
        foldable(listing.title, drawListing(listing), i === 0),
      )}</div>`;
    case "faults":
      return html`<div class="faults">${section.faults.map((fault, i) => renderFault(fault, i === 0))}</div>`;
    case "facts":
      return renderFacts(section.facts);
    case "commands":
      return html`<pre class="commands"><code>${section.commands.join("\n")}</code></pre>`;
  }
}

function renderTable(
  caption: string,
  allColumns: readonly Column[],
  allRows: readonly (readonly TableCell[])[],
): Html {
  // Columns of what was not measured, or did not happen, are left out.
  const isFilled = (column: number) => {
    const nothing = allColumns[column]!.isCount ? ["", "0"] : [""];
    return allRows.some((row) => !nothing.includes(row[column]?.text ?? ""));
  };
  const columns = allColumns.filter((_, column) => isFilled(column));
  const rows = allRows.map((row) => row.filter((_, column) => isFilled(column)));
  const align = (index: number) => columns[index]?.align ?? "start";
  const cell = ({ text, ok }: TableCell, index: number) => {
    const content = ok === undefined ? html`${text}` : html`<span class="${classOf(ok)}">${text}</span>`;
    return index === 0
      ? html`<th scope="row">${content}</th>`
      : html`<td class="${align(index)}" data-label="${columns[index]!.label}">${content}</td>`;
  };
  const table = html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table>
<caption>${caption}</caption>
<thead><tr>${columns.map(({ label }, i) => html`<th scope="col" class="${align(i)}">${label}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map(cell)}</tr>\n`)}</tbody>
</table></div>`;
  return rows.length > FOLDED_ROWS ? foldable(`${rows.length} rows`, table, false) : table;
}

/** The number of rows that a page shows before a reader opens the table. */
const FOLDED_ROWS = 40;

/**
 * Returns a figure that is drawn for wide and for narrow screens. The stylesheet shows one of them.
 */
function renderFigure(
  { series }: BarsSection | RangesSection,
  draw: (screen: Screen) => string,
  caption?: string,
): Html {
  const keys = series.map((name, i) => html`<li class="series-${i + 1}">${name}</li>`);
  const drawings = (["wide", "narrow"] as const).map(
    (screen) => html`<div class="${screen}">${trusted(draw(screen))}</div>`,
  );
  return html`<figure><ul class="legend">${keys}</ul>${drawings}${caption && html`<figcaption>${caption}</figcaption>`}</figure>`;
}

function renderFault({ title, source, span, facts }: ReportedFault, isOpen: boolean): Html {
  return foldable(title, html`${drawExcerpt(source, span)}${renderFacts(facts)}`, isOpen);
}

/** Returns a card that a reader opens and closes. */
function foldable(title: string, content: Html, isOpen: boolean): Html {
  const card = html`<summary>${title}</summary>${content}`;
  return isOpen ? html`<details open>${card}</details>\n` : html`<details>${card}</details>\n`;
}

function renderFacts(facts: Facts): Html {
  return html`<dl>${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** The number of lines shown before and after the struck line. */
const context = 2;

/** Returns the line of a source text at an offset: its number from 1, its start and its end. */
function lineAt(source: string, offset: number): { number: number; start: number; end: number } {
  const start = source.lastIndexOf("\n", offset - 1) + 1;
  const end = source.indexOf("\n", offset);
  return { number: source.slice(0, start).split("\n").length, start, end: end < 0 ? source.length : end };
}

/**
 * Returns an excerpt of a source with line numbers. The span is marked and its line highlighted.
 */
export function drawExcerpt(source: string, span: { readonly start: number; readonly end: number }): Html {
  const line = lineAt(source, span.start);
  const markEnd = Math.min(span.end, line.end);
  const lines = source.trimEnd().split("\n");
  const first = Math.max(0, line.number - 1 - context);
  const rows = lines.slice(first, line.number + context).map((text, i) => {
    const number = first + i + 1;
    if (number !== line.number) return html`<span class="line"><i>${number}</i>${text}</span>`;
    const before = source.slice(line.start, span.start);
    const marked = source.slice(span.start, markEnd);
    const after = source.slice(markEnd, line.end);
    return html`<span class="line struck"><i>${number}</i>${before}<mark>${marked}</mark>${after}</span>`;
  });
  return html`<pre class="excerpt"><code>${rows}</code></pre>`;
}

/** Returns a source with line numbers. Remarks stand beside their lines, which are marked. */
export function drawListing({ source, remarks }: Listing): Html {
  const rows = source
    .trimEnd()
    .split("\n")
    .map((text, i) => {
      const remark = remarks.find(({ line }) => line === i + 1);
      const strength = Math.round(100 * Math.min(1, Math.max(0, remark?.weight ?? 0)));
      const style = remark ? `background: color-mix(in srgb, var(--mark) ${strength}%, transparent)` : "";
      return html`<span class="line" style="${style}"><b>${remark?.text ?? ""}</b><i>${i + 1}</i>${text}</span>`;
    });
  return html`<pre class="excerpt listing"><code>${rows}</code></pre>`;
}

/**
 * Draws values with their intervals as one SVG element. Its colors are the page's `--series-n`
 * variables.
 */
export function drawRanges({ title, across, axis, series, ranges }: RangesSection, screen: Screen): string {
  const groups = [...new Set(ranges.map(({ at }) => at))];
  const { width, ticks } = figureSizes[screen];
  const svg = Plot.plot({
    // There is no browser here, so the plot gets a fresh document.
    document: parseHTML("<html></html>").document as unknown as Document,
    className: "bars",
    ariaLabel: title,
    width,
    height: 320,
    marginLeft: 56,
    marginBottom: 48,
    // Each group has a column, in which the series stand side by side.
    fx: { label: across, labelAnchor: "center", labelArrow: "none", domain: groups, axis: "bottom" },
    x: { axis: null, domain: series, padding: 0.6 },
    y: { label: axis, labelArrow: "none", grid: true, zero: true, nice: true, ticks },
    color: { domain: series, range: series.map((_, i) => `var(--series-${i + 1})`) },
    marks: [
      Plot.ruleX(ranges, {
        fx: "at",
        x: "series",
        y1: "low",
        y2: "high",
        stroke: "series",
        strokeWidth: 3,
        strokeOpacity: 0.35,
      }),
      Plot.dot(ranges, { fx: "at", x: "series", y: "value", fill: "series", r: 3.5 }),
      Plot.ruleY([0]),
    ],
  });
  svg.setAttribute("role", "img");
  return svg.outerHTML;
}

import { drawBars } from "./bars.ts";
import { drawExcerpt } from "./excerpt.ts";
import { type Html, html, trusted } from "./html.ts";
import { drawListing } from "./listing.ts";
import { drawRanges } from "./ranges.ts";
import {
  type BarsSection,
  type Cell,
  type Column,
  classOf,
  type Facts,
  type RangesSection,
  type Report,
  type ReportedFault,
  type Section,
} from "./report.ts";
import { stylesheet } from "./stylesheet.ts";

/** Renders a report as one HTML file that needs nothing else: no script, no font, no request. */
export function renderPage({ title, verdict, sections }: Report): string {
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
      return renderFigure(section, drawBars(section).markup);
    case "ranges":
      return renderFigure(section, drawRanges(section));
    case "listings":
      return html`<div class="faults">${section.listings.map(
        (listing) => html`<article><h3>${listing.title}</h3>${drawListing(listing)}</article>\n`,
      )}</div>`;
    case "faults":
      return html`<div class="faults">${section.faults.map(renderFault)}</div>`;
    case "facts":
      return renderFacts(section.facts);
    case "commands":
      return html`<pre class="commands"><code>${section.commands.join("\n")}</code></pre>`;
  }
}

function renderTable(caption: string, columns: readonly Column[], rows: readonly (readonly Cell[])[]): Html {
  const align = (index: number) => columns[index]?.align ?? "start";
  const cell = ({ text, ok }: Cell, index: number) => {
    const content = ok === undefined ? html`${text}` : html`<span class="${classOf(ok)}">${text}</span>`;
    return index === 0
      ? html`<th scope="row">${content}</th>`
      : html`<td class="${align(index)}">${content}</td>`;
  };
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table>
<caption>${caption}</caption>
<thead><tr>${columns.map(({ label }, i) => html`<th scope="col" class="${align(i)}">${label}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map(cell)}</tr>\n`)}</tbody>
</table></div>`;
}

function renderFigure({ series }: BarsSection | RangesSection, markup: string): Html {
  const keys = series.map((name, i) => html`<li class="series-${i + 1}">${name}</li>`);
  return html`<figure><ul class="legend">${keys}</ul><div class="scroll">${trusted(markup)}</div></figure>`;
}

function renderFault({ title, source, span, facts }: ReportedFault): Html {
  return html`<article><h3>${title}</h3>${drawExcerpt(source, span)}${renderFacts(facts)}</article>\n`;
}

function renderFacts(facts: Facts): Html {
  return html`<dl>${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

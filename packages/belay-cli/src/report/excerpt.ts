import { type Html, html } from "./html.ts";

/** Lines shown before and after the one that matters. */
const context = 2;

/**
 * The line of a source text that holds an offset: its number from 1, and where it starts and ends.
 */
function lineAt(source: string, offset: number): { number: number; start: number; end: number } {
  const start = source.lastIndexOf("\n", offset - 1) + 1;
  const end = source.indexOf("\n", offset);
  return { number: source.slice(0, start).split("\n").length, start, end: end < 0 ? source.length : end };
}

/** An excerpt of a source with its line numbers; the span is marked, its line highlighted. */
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

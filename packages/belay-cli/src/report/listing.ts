import { type Html, html } from "./html.ts";
import type { Listing } from "./report.ts";

/**
 * A source with its line numbers; what there is to say about a line stands beside it, and marks it.
 */
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

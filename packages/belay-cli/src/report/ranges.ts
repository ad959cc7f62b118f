import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import type { RangesSection } from "./report.ts";

/**
 * Draws values with their intervals as one SVG element whose colors are the page's `--series-n`
 * variables.
 */
export function drawRanges({ title, across, axis, series, ranges }: RangesSection): string {
  const svg = Plot.plot({
    // A fresh document, because there is no browser here.
    document: parseHTML("<html></html>").document as unknown as Document,
    className: "bars",
    ariaLabel: title,
    width: 840,
    height: 320,
    marginLeft: 56,
    marginBottom: 44,
    x: { label: across, labelAnchor: "center", labelArrow: "none" },
    y: { label: axis, labelArrow: "none", grid: true, zero: true, nice: true, ticks: 5 },
    color: { domain: series, range: series.map((_, i) => `var(--series-${i + 1})`) },
    marks: [
      Plot.ruleX(ranges, { x: "at", y1: "low", y2: "high", stroke: "series", strokeOpacity: 0.5 }),
      Plot.line(ranges, { x: "at", y: "value", stroke: "series", strokeWidth: 1.5 }),
      Plot.dot(ranges, { x: "at", y: "value", fill: "series", r: 2.5 }),
      Plot.ruleY([0]),
    ],
  });
  svg.setAttribute("role", "img");
  return svg.outerHTML;
}

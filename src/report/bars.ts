import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import type { BarsSection } from "./report.ts";

/** Height of one bar, and of the gap between groups, in pixels. */
const barHeight = 16;
const groupGap = 12;
/** About what a letter of a group's name takes. */
const letterWidth = 7;

export interface Drawing {
  readonly markup: string;
  readonly width: number;
  readonly height: number;
}

/** Draws grouped horizontal bars as one SVG element whose colors are the page's `--series-n` variables. */
export function drawBars({ title, axis, series, bars }: BarsSection): Drawing {
  const groups = [...new Set(bars.map(({ group }) => group))];
  const longest = Math.max(...groups.map((group) => group.length));
  const groupHeight = series.length * barHeight + groupGap;
  const [width, height] = [840, groups.length * groupHeight + 56];
  const svg = Plot.plot({
    // A fresh document, because there is no browser here.
    document: parseHTML("<html></html>").document as unknown as Document,
    className: "bars",
    ariaLabel: title,
    width,
    height,
    marginLeft: Math.max(120, letterWidth * longest + 16),
    marginRight: 72,
    marginTop: 8,
    marginBottom: 40,
    x: {
      label: axis,
      labelAnchor: "center",
      labelArrow: "none",
      grid: true,
      nice: true,
      zero: true,
      ticks: 5,
    },
    y: { axis: null, domain: series, padding: 0.1 },
    fy: { label: null, domain: groups, padding: groupGap / groupHeight },
    color: { domain: series, range: series.map((_, i) => `var(--series-${i + 1})`) },
    marks: [
      Plot.axisFy({ anchor: "left", fontSize: 13 }),
      Plot.barX(bars, { x: "value", y: "series", fy: "group", fill: "series", rx2: 3 }),
      Plot.text(bars, {
        x: "value",
        y: "series",
        fy: "group",
        text: "label",
        textAnchor: "start",
        dx: 6,
        fontSize: 11,
      }),
      Plot.ruleX([0]),
    ],
  });
  svg.setAttribute("role", "img");
  return { markup: svg.outerHTML, width, height };
}

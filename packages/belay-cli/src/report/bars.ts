import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import type { Bar, BarsSection } from "./report.ts";

/** The height of one bar and of the gap between groups, in pixels. */
const barHeight = 16;
const groupGap = 12;
/** The approximate width of a letter in a group's name, and in a bar's label, in pixels. */
const letterWidth = 8;
const labelLetterWidth = 6.5;

export interface Drawing {
  readonly markup: string;
  readonly width: number;
  readonly height: number;
}

/**
 * Draws grouped horizontal bars as one SVG element. Its colors are the page's `--series-n`
 * variables.
 */
export function drawBars({ title, axis, series, bars, stacked, reference }: BarsSection): Drawing {
  const groups = [...new Set(bars.map(({ group }) => group))];
  const longest = Math.max(...groups.map((group) => group.length));
  const groupHeight = (stacked ? 1 : series.length) * barHeight + groupGap;
  const longestLabel = Math.max(...bars.map(({ label }) => label.length)) + beyond.length;
  const drawn = stacked ? oneBehindTheOther(bars) : fromZero(bars);
  // Parts of one bar share the whole height of their group.
  const y = stacked ? {} : { y: "series" };
  const [width, height] = [840, groups.length * groupHeight + 56];
  const svg = Plot.plot({
    // There is no browser here, so the plot gets a fresh document.
    document: parseHTML("<html></html>").document as unknown as Document,
    className: "bars",
    ariaLabel: title,
    width,
    height,
    marginLeft: Math.max(120, letterWidth * longest + 16),
    marginRight: Math.max(72, labelLetterWidth * longestLabel + 12),
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
    y: stacked ? { axis: null } : { axis: null, domain: series, padding: 0.1 },
    fy: { label: null, domain: groups, padding: groupGap / groupHeight },
    color: { domain: series, range: series.map((_, i) => `var(--series-${i + 1})`) },
    marks: [
      Plot.axisFy({ anchor: "left", fontSize: 13 }),
      Plot.barX(drawn, {
        x1: "from",
        x2: "to",
        ...y,
        fy: "group",
        fill: "series",
        ...(!stacked && { rx2: 3 }),
      }),
      Plot.text(drawn, {
        x: "to",
        ...y,
        fy: "group",
        text: "label",
        textAnchor: "start",
        dx: 6,
        fontSize: 11,
      }),
      Plot.ruleX([0]),
      ...(reference === undefined ? [] : [Plot.ruleX([reference], { strokeDasharray: "3 3" })]),
    ],
  });
  svg.setAttribute("role", "img");
  return { markup: svg.outerHTML, width, height };
}

/** The number of bars from which on some can be outliers. */
const fewBars = 8;

/** The end of the label of a bar that is longer than the axis. */
const beyond = " ›";

/**
 * Places all bars at zero. A bar more than five times as long as nine tenths of the others ends
 * with the axis, so that the others can be seen.
 */
function fromZero(bars: readonly Bar[]): (Bar & { readonly from: number; readonly to: number })[] {
  const sorted = bars.map(({ value }) => value).sort((a, b) => a - b);
  if (sorted.length < fewBars) return bars.map((bar) => ({ ...bar, from: 0, to: bar.value }));
  const most = 5 * sorted[Math.ceil(0.9 * (sorted.length - 1)) - 1]!;
  const end = sorted.findLast((value) => value <= most) ?? sorted.at(-1)!;
  return bars.map((bar) => {
    const isBeyond = bar.value > end;
    return {
      ...bar,
      from: 0,
      to: isBeyond ? end : bar.value,
      label: `${bar.label}${isBeyond ? beyond : ""}`,
    };
  });
}

/** Places each bar at the end of the previous bar of its group. */
function oneBehindTheOther(bars: readonly Bar[]): (Bar & { readonly from: number; readonly to: number })[] {
  const ends = new Map<string, number>();
  return bars.map((bar) => {
    const from = ends.get(bar.group) ?? 0;
    const to = from + bar.value;
    ends.set(bar.group, to);
    return { ...bar, from, to };
  });
}

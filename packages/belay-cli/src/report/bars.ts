import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import type { Bar, BarsSection, ValueInterval } from "./report.ts";

/** The height of one bar and of the gap between groups, in pixels. */
const barHeight = 16;
const groupGap = 12;
/** The approximate width of a letter in a group's name, and in a bar's label, in pixels. */
const letterWidth = 8;
const labelLetterWidth = 6.5;

/**
 * The screens that a figure is drawn for. On a wide one, the name of a group of bars stands left of
 * them; on a narrow one, above them.
 */
export type Screen = "wide" | "narrow";

/** The width of figures in pixels, and the number of ticks on their axes. */
export const figureSizes: Readonly<Record<Screen, { readonly width: number; readonly ticks: number }>> = {
  wide: { width: 840, ticks: 5 },
  narrow: { width: 360, ticks: 3 },
};

/** The row of a group's bars that its name has on a narrow screen, and the one of stacked bars. */
const nameRow = "";
const stackRow = "stack";

export interface Drawing {
  readonly markup: string;
  readonly width: number;
  readonly height: number;
}

/**
 * Draws grouped horizontal bars as one SVG element. Its colors are the page's `--series-n`
 * variables.
 */
export function drawBars(
  { title, axis, series, bars, stacked, reference }: BarsSection,
  screen: Screen = "wide",
): Drawing {
  const groups = [...new Set(bars.map(({ group }) => group))];
  const longest = Math.max(...groups.map((group) => group.length));
  const isNarrow = screen === "narrow";
  const rows = [...(isNarrow ? [nameRow] : []), ...(stacked ? [stackRow] : series)];
  const groupHeight = rows.length * barHeight + groupGap;
  const longestLabel = Math.max(...bars.map(({ label }) => label.length)) + beyond.length;
  const drawn = stacked ? oneBehindTheOther(bars) : fromZero(bars);
  // Parts of one bar share a row.
  const y = { y: stacked ? () => stackRow : "series" };
  const { width, ticks } = figureSizes[screen];
  const height = groups.length * groupHeight + 56;
  const svg = Plot.plot({
    // There is no browser here, so the plot gets a fresh document.
    document: parseHTML("<html></html>").document as unknown as Document,
    className: "bars",
    ariaLabel: title,
    width,
    height,
    marginLeft: isNarrow ? 8 : Math.max(120, letterWidth * longest + 16),
    marginRight: Math.max(isNarrow ? 0 : 72, labelLetterWidth * longestLabel + 12),
    marginTop: 8,
    marginBottom: 40,
    x: {
      label: axis,
      labelAnchor: "center",
      labelArrow: "none",
      grid: true,
      nice: true,
      zero: true,
      ticks,
    },
    y: { axis: null, domain: rows, padding: stacked ? 0 : 0.1 },
    fy: { label: null, axis: null, domain: groups, padding: groupGap / groupHeight },
    color: { domain: series, range: series.map((_, i) => `var(--series-${i + 1})`) },
    marks: [
      isNarrow
        ? Plot.text(groups, { fy: (name) => name, y: () => nameRow, ...nameAbove })
        : Plot.axisFy({ anchor: "left", fontSize: 13 }),
      Plot.barX(drawn, {
        x1: "from",
        x2: "to",
        ...y,
        fy: "group",
        // Without a scale, Plot would take a series named "none" for a color.
        fill: { value: "series", scale: "color" },
        ...(!stacked && { rx2: 3 }),
      }),
      Plot.text(drawn, {
        x: "reach",
        ...y,
        fy: "group",
        text: "label",
        textAnchor: "start",
        dx: 6,
        fontSize: 11,
      }),
      ...whiskers(drawn),
      Plot.ruleX([0]),
      ...(reference === undefined ? [] : [Plot.ruleX([reference], { strokeDasharray: "3 3" })]),
    ],
  });
  svg.setAttribute("role", "img");
  return { markup: svg.outerHTML, width, height };
}

/** The look of a group's name above its bars. */
const nameAbove = {
  text: (name: string) => name,
  frameAnchor: "left",
  textAnchor: "start",
  fontSize: 13,
} as const;

/** A bar at its place, and the end of its whisker, or of the bar if that is longer. */
interface PlacedBar extends Bar {
  readonly from: number;
  readonly to: number;
  readonly reach: number;
}

/** The space above and below the ends of a whisker within the height of its bar, in pixels. */
const whiskerInset = 4;

/** Returns the marks for the intervals of bars: a line, and an end at each bound. */
function whiskers(bars: readonly PlacedBar[]): Plot.Markish[] {
  const drawn = bars.flatMap(({ interval, ...bar }) => (interval ? [{ ...bar, ...interval }] : []));
  if (drawn.length === 0) return [];
  const common = { y: "series", fy: "group", strokeWidth: 1.25, className: "whisker" };
  const ends = { ...common, insetTop: whiskerInset, insetBottom: whiskerInset };
  return [
    Plot.ruleY(drawn, { ...common, x1: "low", x2: "high" }),
    Plot.tickX(drawn, { ...ends, x: "low" }),
    Plot.tickX(drawn, { ...ends, x: "high" }),
  ];
}

/** The number of bars from which on some can be outliers. */
const fewBars = 8;

/** The end of the label of a bar, or of a whisker, that is longer than the axis. */
const beyond = " ›";

/**
 * Places all bars at zero. Bars and whiskers that are more than five times as long as nine tenths
 * of the others end with the axis. The others stay visible.
 */
function fromZero(bars: readonly Bar[]): PlacedBar[] {
  const placed = bars.map((bar) => ({
    ...bar,
    from: 0,
    to: bar.value,
    reach: Math.max(bar.value, bar.interval?.high ?? bar.value),
  }));
  const sorted = placed.map(({ reach }) => reach).sort((a, b) => a - b);
  if (sorted.length < fewBars) return placed;
  const most = 5 * sorted[Math.ceil(0.9 * (sorted.length - 1)) - 1]!;
  const end = sorted.findLast((reach) => reach <= most) ?? sorted.at(-1)!;
  return placed.map((bar) => (bar.reach > end ? cut(bar, end) : bar));
}

/** Ends a bar and its whisker with the axis, and says so in the label. */
function cut({ interval, ...bar }: PlacedBar, end: number): PlacedBar {
  const within = ({ low, high }: ValueInterval) => ({ low: Math.min(low, end), high: Math.min(high, end) });
  return {
    ...bar,
    to: Math.min(bar.to, end),
    reach: end,
    label: `${bar.label}${beyond}`,
    ...(interval && { interval: within(interval) }),
  };
}

/** Places each bar at the end of the previous bar of its group. */
function oneBehindTheOther(bars: readonly Bar[]): PlacedBar[] {
  const ends = new Map<string, number>();
  return bars.map(({ interval: _, ...bar }) => {
    const from = ends.get(bar.group) ?? 0;
    const to = from + bar.value;
    ends.set(bar.group, to);
    return { ...bar, from, to, reach: to };
  });
}

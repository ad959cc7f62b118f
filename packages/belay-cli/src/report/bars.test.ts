import { parseHTML } from "linkedom";
import { describe, expect, it } from "vitest";
import { drawBars } from "./bars.ts";
import type { BarsSection } from "./report.ts";

const section: BarsSection = {
  kind: "bars",
  title: "Parts",
  axis: "ratio",
  series: ["one", "two"],
  bars: [
    { group: "a", series: "one", value: 1, label: "" },
    { group: "a", series: "two", value: 2, label: "3.00" },
    { group: "b", series: "one", value: 2, label: "2.00" },
  ],
};

const rectanglesOf = (section: BarsSection) => {
  const { document } = parseHTML(`<html><body>${drawBars(section).markup}</body></html>`);
  return [...document.querySelectorAll('[aria-label="bar"] rect, [aria-label="bar"] path')].map((bar) => {
    // A bar with round corners is a path, whose arcs end at its corners.
    const ends = [...(bar.getAttribute("d") ?? "").matchAll(/A\S+ 0 0 1 ([\d.]+),/g)].map(([, x]) =>
      Number(x),
    );
    const x = Math.min(...ends);
    return ends.length > 0
      ? { x, width: Math.max(...ends) - x }
      : { x: Number(bar.getAttribute("x")), width: Number(bar.getAttribute("width")) };
  });
};

it("puts the parts of a bar one behind the other", () => {
  const [first, second, other] = rectanglesOf({ ...section, stacked: true });
  expect(second!.x).toBeCloseTo(first!.x + first!.width);
  expect(second!.width).toBeCloseTo(2 * first!.width);
  expect(other!.x).toBeCloseTo(first!.x);
});

it("draws bars that are no parts beside each other, and lower than a stack", () => {
  expect(drawBars(section).height).toBeGreaterThan(drawBars({ ...section, stacked: true }).height);
});

it("ends an outlier with the axis, and marks its label", () => {
  const values = [1, 2, 1, 2, 1, 2, 3, 1, 900];
  const bars = values.map((value, i) => ({ group: `g${i}`, series: "one", value, label: String(value) }));
  const widths = rectanglesOf({ ...section, series: ["one"], bars }).map(({ width }) => width);
  expect(widths.at(-1)).toBe(Math.max(...widths));
  expect(widths[0]).toBeCloseTo(widths.at(-1)! / 3);
  expect(drawBars({ ...section, series: ["one"], bars }).markup).toContain("900 ›");
});

it("leaves room for the longest label", () => {
  const label = "86.4 % (81.9 to 90.2)";
  const [bar] = rectanglesOf({ ...section, bars: [{ group: "a", series: "one", value: 1, label }] });
  expect(bar!.x + bar!.width + 6 + 6 * label.length).toBeLessThan(drawBars(section).width);
});

it("draws a lone series in its color, also one with the name of a color", () => {
  const bars = [{ group: "a", series: "none", value: 1, label: "1" }];
  expect(drawBars({ ...section, series: ["none"], bars }).markup).toContain('fill="var(--series-1)"');
});

it("draws a reference", () => {
  expect(drawBars({ ...section, reference: 1 }).markup).toContain("stroke-dasharray");
  expect(drawBars(section).markup).not.toContain("stroke-dasharray");
});

describe("a whisker", () => {
  const interval = { low: 0.5, high: 1.5 };
  const [first, ...others] = section.bars;
  const withInterval = { ...section, bars: [{ ...first!, label: "1.00", interval }, ...others] };
  const elementsOf = (section: BarsSection, selector: string) => {
    const { document } = parseHTML(`<html><body>${drawBars(section).markup}</body></html>`);
    return [...document.querySelectorAll(selector)];
  };
  const whiskersOf = (section: BarsSection) =>
    elementsOf(section, ".whisker line").map((line) =>
      ["x1", "x2"].map((name) => Number(line.getAttribute(name))),
    );

  it("spans the interval of its bar, with an end at each bound", () => {
    const [bar] = rectanglesOf(withInterval);
    const [line, low, high] = whiskersOf(withInterval);
    expect(line![0]).toBeCloseTo(bar!.x + bar!.width / 2, 0);
    expect(line![1]).toBeCloseTo(bar!.x + 1.5 * bar!.width, 0);
    expect([low![0], high![0]]).toEqual(line);
    expect(whiskersOf(section)).toEqual([]);
  });

  it("stands left of the label of its bar", () => {
    const label = elementsOf(withInterval, '[aria-label="text"] text').find(
      ({ textContent }) => textContent === "1.00",
    )!;
    const x = Number(/translate\(([\d.]+)/.exec(label.getAttribute("transform")!)![1]);
    const [, end] = whiskersOf(withInterval)[0]!;
    const [bar] = rectanglesOf(withInterval);
    expect(end).toBeGreaterThan(bar!.x + bar!.width);
    // A group of the SVG adds the distance between them.
    expect(x).toBeGreaterThanOrEqual(end! - 1);
  });

  it("ends with the axis where it is an outlier, and the label says so", () => {
    const bars = [1, 2, 1, 2, 1, 2, 3, 1, 2].map((value, i) => ({
      group: `g${i}`,
      series: "one",
      value,
      label: `${value}.00`,
      ...(i === 8 && { interval: { low: 1, high: 900 } }),
    }));
    const drawn = { ...section, series: ["one"], bars };
    const longest = Math.max(...rectanglesOf(drawn).map(({ x, width }) => x + width));
    expect(whiskersOf(drawn)[0]![1]).toBeCloseTo(longest, 0);
    expect(elementsOf(drawn, "text").filter(({ textContent }) => textContent?.endsWith("›")).length).toBe(1);
  });

  it("is not drawn on the parts of a bar", () => {
    expect(whiskersOf({ ...withInterval, stacked: true })).toEqual([]);
  });
});

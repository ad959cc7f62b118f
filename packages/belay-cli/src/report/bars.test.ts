import { parseHTML } from "linkedom";
import { expect, it } from "vitest";
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
  return [...document.querySelectorAll('[aria-label="bar"] rect, [aria-label="bar"] path')].map((bar) => ({
    x: Number(bar.getAttribute("x")),
    width: Number(bar.getAttribute("width")),
  }));
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

it("draws a reference", () => {
  expect(drawBars({ ...section, reference: 1 }).markup).toContain("stroke-dasharray");
  expect(drawBars(section).markup).not.toContain("stroke-dasharray");
});

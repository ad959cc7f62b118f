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

it("draws a reference", () => {
  expect(drawBars({ ...section, reference: 1 }).markup).toContain("stroke-dasharray");
  expect(drawBars(section).markup).not.toContain("stroke-dasharray");
});

import { expect, it } from "vitest";
import { programsSample } from "../../../../test/support/results/programsSample.ts";
import { describePrograms } from "./report.ts";

const barsOf = (runs: number) =>
  describePrograms({ ...programsSample, runs }).sections.find((section) => section.kind === "bars")!;

it("draws the quartiles of each policy around its ratio", () => {
  const [first, second] = barsOf(7).bars;
  expect(first).toMatchObject({
    group: "add",
    series: "default",
    value: 1,
    interval: { low: 0.9, high: 1.2 },
  });
  expect(second).toMatchObject({ value: 1.25, interval: { low: 1.125, high: 1.5 } });
  expect(barsOf(7).noise).toMatch(/middle half of 7 runs: the quartiles of hardened time/);
});

it("says that one run tells nothing of noise", () => {
  expect(barsOf(1).bars.filter((bar) => "interval" in bar)).toEqual([]);
  expect(barsOf(1).noise).toMatch(/one run/);
});

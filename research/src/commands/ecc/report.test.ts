import { renderPage } from "belay-cli/internal/report/page";
import { expect, it } from "vitest";
import { eccSample as run } from "../../../../test/support/results/eccSample.ts";
import type { EccRun } from "../results/results.ts";
import { describeEcc, summaryTable } from "./report.ts";

it("shows every figure of the paper, what it lacks, and every problem", () => {
  const report = describeEcc(run);
  const text = JSON.stringify(report);
  for (const shown of [
    "N-body, by the number of bodies",
    '"2048"',
    "1.25x",
    "1.31x", // predicted
    "bound by memory; something",
    "secded32 (+20.0 %)", // the cost model's choice is a fifth slower than the best
    "secded128 (+0.0 %)", // the choice of a measurement
    "Transfers",
    "3.4 GB/s", // of 128 MiB in 40 ms
    "3.0 GB/s", // the host
    "Bits flipped at rest",
    "other bits than unprotected",
    "the device is lost",
  ]) {
    expect(text).toContain(shown);
  }
  expect(report.verdict).toMatchObject({ ok: false, headline: "1 program of 1 went wrong: nBody2048" });
  expect(renderPage(report)).toContain("<svg");
});

it("leaves out what was not measured", () => {
  const bare: EccRun = {
    ...run,
    ok: true,
    programs: [{ ...run.programs[0]!, overheads: [], faultFree: [], flips: [], failures: [] }],
  };
  expect(describeEcc(bare).sections.map(({ title }) => title)).toEqual([
    "Programs",
    "Transfers",
    "The host's side",
    "Machine",
    "Reproduce",
  ]);
  expect(summaryTable(bare).rows[0]!.map(({ text }) => text)).toEqual([
    "nBody2048",
    "right",
    ...Array(5).fill(""),
  ]);
});

it("draws the quartiles of ratios and of rates", () => {
  const bars = describeEcc(run).sections.flatMap((section) => (section.kind === "bars" ? section.bars : []));
  const intervalOf = (group: string) =>
    bars.find((bar) => bar.group === group && bar.series === "secded128")!.interval!;
  expect(intervalOf("2048").low).toBeCloseTo(0.9 * 1.25);
  expect(intervalOf("2048").high).toBeCloseTo(1.2 * 1.25);
  // A rate is high where the time is short.
  expect(intervalOf("writeBuffer").low).toBeCloseTo(2 ** 27 / 1e6 / 48);
  expect(intervalOf("writeBuffer").high).toBeCloseTo(2 ** 27 / 1e6 / 36);
});

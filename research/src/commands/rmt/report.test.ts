import { renderPage } from "belay-cli/internal/report/page";
import { expect, it } from "vitest";
import { overhead, rmtSample as run } from "../../../../test/support/results/rmtSample.ts";
import { describeRmt } from "./report.ts";
import { problemsOf, summaryTable } from "./tables.ts";

it("shows every figure of the paper, and every problem", () => {
  const report = describeRmt(run);
  const text = JSON.stringify(report);
  for (const shown of [
    "(figures 2 and 6)",
    "registers", // figure 9
    "1.75",
    "2.00 TB/s", // figure 3
    "50 %",
    "4.00 TB/s", // loaded and stored
    "15.00 Top/s",
    "+0.13", // figures 4 and 7: doubled workgroups, computation, communication
    "+0.25",
    "321", // figure 5
    "432",
    "1.50 J",
    "3.000 ms", // of every configuration
    "Within 5 % of the best configuration that covers arithmetic, registers and workgroup memory: 1 of 1 programs where the kernel's text decides, 0 where",
    "bound by memory",
    "20 runs: 0 false alarms, 0 waits for a twin that ran out, 3 outputs",
    "belay bench rmt --runs 7",
    "its workgroups are too large",
    "the device is lost",
    "other bits than unprotected",
  ]) {
    expect(text).toContain(shown);
  }
  expect(report.verdict).toMatchObject({
    ok: false,
    headline: "1 program of 1 went wrong: sum",
  });
  expect(renderPage(report)).toContain("<svg");
});

it("tells a terminal what is wrong, and calls a wait that ran out no failure", () => {
  expect(problemsOf(run)).toEqual([
    { text: "sum: overhead, inter store: the device is lost", ok: false },
    { text: "sum: intra+lds store subgroup: other bits than unprotected", ok: false },
  ]);
  const [program] = run.programs;
  const waited = { ...program!, overheads: [{ ...overhead, unverified: 1 }], faultFree: [], failures: [] };
  expect(problemsOf({ ...run, programs: [waited] })).toEqual([
    { text: "sum: intra+lds store subgroup: 1 waits for a twin that ran out", ok: null },
  ]);
  const [row] = summaryTable({ ...run, programs: [waited] }).rows;
  expect(row![1]).toEqual({ text: "right, but unverified", ok: null });
  const inFaultFree = {
    ...waited,
    overheads: [],
    faultFree: [{ ...program!.faultFree[0]!, different: 0, unverified: 2 }],
  };
  for (const program of [waited, inFaultFree, { ...waited, overheads: [], left: ["auto"] }]) {
    const { verdict } = describeRmt({ ...run, ok: false, programs: [program] });
    expect(verdict).toMatchObject({
      ok: null,
      headline: expect.stringMatching(/^1 program measured, every/),
    });
    expect(verdict.headline).toMatch(
      /; not measured in full, as that took too long or the time was up: sum$/,
    );
  }
});

it("says where no power can be read", () => {
  const facts = (powerSource: string | null) => JSON.stringify(describeRmt({ ...run, powerSource }).sections);
  expect(facts(null)).toContain("no readings");
  expect(facts("a meter")).not.toContain("no readings");
});

it("leaves out what was not measured", () => {
  const { ceilings: _, ...rest } = run;
  const bare = {
    ...rest,
    programs: [
      { ...run.programs[0]!, overheads: [], components: [], power: [], faultFree: [], failures: [] },
    ],
  };
  const titles = describeRmt(bare).sections.map(({ title }) => title);
  expect(titles).toEqual(["Programs", "Machine", "Reproduce"]);
  expect(summaryTable(bare).rows[0]!.map(({ text }) => text)).toContain("1.25x");
});

it("draws the quartiles of each overhead, or says that there was one run", () => {
  const figureOf = (runs: number) =>
    describeRmt({ ...run, runs }).sections.find((section) => section.kind === "bars")!;
  const { bars, noise } = figureOf(7);
  expect(bars[0]!.interval!.low).toBeCloseTo(0.9 * 1.5);
  expect(bars[0]!.interval!.high).toBeCloseTo(1.2 * 1.5);
  expect(noise).toMatch(/middle half of 7 runs/);
  expect(figureOf(1).bars[0]).not.toHaveProperty("interval");
  expect(figureOf(1).noise).toMatch(/one run/);
});

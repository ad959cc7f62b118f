import { renderPage } from "belay-cli/internal/report/page";
import { expect, it } from "vitest";
import type { Overhead } from "../../bench/measuring/overhead.ts";
import type { RmtRun } from "../results/results.ts";
import { describeRmt } from "./report.ts";
import { problemsOf, summaryTable } from "./tables.ts";

const times = (median: number) => ({ median, lower: median, upper: median });
const configuration = {
  redundancy: "intra+lds",
  check: "store",
  channel: "subgroup",
  pairing: "adjacent",
} as const;
const overhead: Overhead = {
  ...configuration,
  unprotected: times(2),
  protected: times(3),
  ratio: 1.5,
  detections: 0,
  unverified: 0,
  identical: true,
};

const run: RmtRun = {
  ok: false,
  date: "2000-01-01",
  node: "v20",
  platform: "linux x64",
  adapter: { kind: "hardware", description: "a GPU", reason: "", tried: [] },
  size: "full",
  runs: 7,
  measure: ["overhead", "roofline", "components", "power"],
  flavors: ["intra+lds", "intra-lds", "inter"],
  commands: ["belay bench rmt --runs 7"],
  ceilings: { memory: 4e12, cache: 8e12, flops: 5e13, integers: 1e13, invocations: 2e11 },
  powerSource: "a meter",
  programs: [
    {
      name: "sum",
      verdict: { ok: true, message: "" },
      overheads: [
        overhead,
        { ...overhead, channel: "workgroup", ratio: 1.75 },
        { ...configuration, redundancy: "intra-lds", refused: "its workgroups are too large" },
      ],
      roofline: {
        time: 2,
        bytesPerSecond: 2e12,
        flopsPerSecond: 0,
        memoryTime: 1,
        arithmeticTime: 0,
        computeTime: 1.25,
        limit: 1.25,
        counted: { loaded: 6e9, stored: 2e9, operations: 3e10 },
      },
      automatic: {
        predicted: {
          ...overhead,
          choices: [{ kernel: "add", configuration: "intra+lds store", reason: "bound by memory" }],
        },
        tuned: { ...overhead, ratio: 1.6, choices: [{ kernel: "add", configuration: "inter signature" }] },
      },
      components: [{ redundancy: "intra+lds", reserved: 1.125, computed: 1.375 }],
      power: [{ redundancy: "none", average: 321, peak: 432, readings: 50, energy: 1.5 }],
      faultFree: [{ ...configuration, runs: 20, detections: 0, unverified: 0, different: 3 }],
      left: [],
      failures: ["overhead, inter store: the device is lost"],
    },
  ],
};

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

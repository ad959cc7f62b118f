import type { TableSection } from "belay-cli/internal/report/report";
import { expect, it } from "vitest";
import {
  measured,
  program,
  speculationSample as run,
  times,
} from "../../../../test/support/results/speculationSample.ts";
import type { TimedRuns } from "../../bench/measuring/attempt.ts";
import type { SpeculationProgram } from "../../bench/speculation/program.ts";
import { describeSpeculation } from "./report.ts";

function rowOf(title: string): string[] {
  const { sections } = describeSpeculation(run);
  const section = sections.find(
    (each): each is TableSection => each.kind === "table" && each.title === title,
  );
  return section!.rows[0]!.map(({ text }) => text);
}

it("tells how many runs there were where these are fewer", () => {
  expect(rowOf("Loops, scaled").slice(3, 8)).toEqual([
    "200 of 3",
    "400 of 3",
    "",
    "40.0 (10.0×)",
    "10.0 (40.0×)",
  ]);
});

it("holds a call against a copy of what it moves", () => {
  const [, ...cells] = rowOf("What moving arrays allows");
  expect(cells).toEqual(["60.0", "40.0", "5.00", "20.0 ms", "40.0 ms", "5.00×", "10.0×"]);
});

it("holds checked kernels against unchecked ones, and a hardened device against another", () => {
  expect(rowOf("What checking costs (figure 11)")).toContain("2.00×");
  expect(rowOf("On a hardened device").slice(2)).toEqual(["60.0 ms", "1.50×", "30.0 ms", "3.00×"]);
});

it("puts what is documented of dependences beside the rates", () => {
  expect(rowOf("Misspeculation (figure 10)")).toEqual([
    "trfd, scaled",
    "100 % (4)",
    "25.0 % (3)",
    "",
    "",
    "",
    "0.00 %",
    "one pair of 192 iterations",
  ]);
});

it("keeps what took too long apart from what went wrong", () => {
  const slow = { failed: "it took more than 60 s", late: true } as const;
  const withPublished = (published: object) =>
    describeSpeculation({
      ...run,
      ok: false,
      programs: [{ ...program, variants: { ...program.variants, published } } as SpeculationProgram],
    });
  const late = withPublished(slow);
  expect(late.verdict).toMatchObject({
    ok: null,
    headline:
      "1 loop measured, every result right; not measured in full, as that took too long or the time was up: trfd, scaled",
  });
  expect(JSON.stringify(late)).not.toMatch(/"ok":false|went wrong/);
  for (const bad of [{ failed: "the device was lost" }, { ...measured(times(1), times(1)), right: false }]) {
    const { verdict } = withPublished(bad);
    expect(verdict).toMatchObject({ ok: false, headline: "1 loop of 1 went wrong: trfd, scaled" });
  }
});

it("draws the quartiles of speedups, and says where there was one run", () => {
  const speedupOf = (moved: TimedRuns) => {
    const variants = { default: measured(moved, times(10)) };
    const { sections } = describeSpeculation({ ...run, programs: [{ ...program, variants }] });
    return sections.find((section) => section.kind === "bars")!.bars[0]!;
  };
  const { value, interval } = speedupOf(times(40));
  // 200 ms in C; the GPU takes 40, and from 36 to 48.
  expect([value, interval!.low, interval!.high]).toEqual([5, 200 / 48, 200 / 36]);
  const once = speedupOf(times(40, 1));
  expect(once).toMatchObject({ value: 5, label: "5.00×, one run" });
  expect(once).not.toHaveProperty("interval");
});

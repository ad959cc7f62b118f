/** The reports of the commands in a browser, on a wide and on a narrow screen. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describeDemo } from "belay-cli/internal/commands/demo/demoReport";
import { renderPage } from "belay-cli/internal/report/page";
import { describeEcc } from "belay-research/internal/commands/ecc/report";
import { describePrograms } from "belay-research/internal/commands/programs/report";
import { describeRmt } from "belay-research/internal/commands/rmt/report";
import { describeSpeculation } from "belay-research/internal/commands/speculation/report";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type LaunchedChromium, launchChromium } from "../support/processes/chromium.ts";
import { misfitsOf } from "../support/processes/misfits.ts";
import { eccSample } from "../support/results/eccSample.ts";
import { programsSample } from "../support/results/programsSample.ts";
import { rmtSample } from "../support/results/rmtSample.ts";
import { speculationSample } from "../support/results/speculationSample.ts";
import { root } from "../support/workspaces.ts";

/** Returns a result with more programs, some with the longest names of the benchmarks. */
function withNames<Run extends { readonly programs: readonly { readonly name: string }[] }>(
  run: Run,
  names: readonly string[],
): Run {
  const programs = names.flatMap((name) => run.programs.map((program) => ({ ...program, name })));
  return { ...run, programs };
}

const demo = JSON.parse(readFileSync(join(root, "docs/demo.json"), "utf8"));
const reports = {
  demo: describeDemo(demo),
  ecc: describeEcc(withNames(eccSample, ["fft3d", "nBody2048", "nBody65536", "histogram", "copyBytes"])),
  programs: describePrograms(withNames(programsSample, ["add", "convolution2d", "instancedParticles"])),
  rmt: describeRmt(withNames(rmtSample, ["sum", "fastWalshTransform", "quasiRandomSequence"])),
  speculation: describeSpeculation(withNames(speculationSample, ["trfd", "fftbench", "synthetic"])),
};

let launched: LaunchedChromium;
beforeAll(async () => {
  launched = await launchChromium();
});
afterAll(() => launched?.close());

it.each(Object.keys(reports).flatMap((name) => [1400, 400].map((width) => [name, width] as const)))(
  "the report of %s fits into %i pixels",
  async (name, width) => {
    const page = renderPage(reports[name as keyof typeof reports]);
    expect(await misfitsOf(launched, page, name, width)).toEqual([]);
  },
);

it("a clipped text, two texts in one place, a text without size and a wide table are misfits", async () => {
  const figure = (text: string) => `<figure><svg width="90" height="40">${text}</svg></figure>`;
  const text = (x: number, label: string) => `<text x="${x}" y="20">${label}</text>`;
  const table = (width: number) => `<table><tr><td style="min-width: ${width}px">cell</td></tr></table>`;
  const misfits = (body: string, width: number) =>
    misfitsOf(
      launched,
      `<div class="scroll" style="overflow: auto">${table(width)}</div>${body}`,
      "misfits",
      400,
    );
  expect(await misfits(figure(text(0, "one")), 100)).toEqual([]);
  expect(await misfits(figure(text(0, "one") + text(5, "two") + text(80, "three")), 500)).toEqual([
    expect.stringMatching(/^DIV is 5\d\d wide/),
    "three is cut off",
    "one overlaps two",
  ]);
  const sizeless = '<text font-size="0">four</text>';
  expect(await misfits(figure(sizeless), 100)).toEqual(["four has no size"]);
});

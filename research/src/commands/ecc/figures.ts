/** The figures of the paper on software ECC, and one that it lacks, as sections of a report. */
import type { BarsSection, Section, TableSection } from "belay-cli/internal/report/report";
import { barOf, barsSection, columnsOf, tableSection } from "belay-cli/internal/report/sections";
import { noiseOf, ofRatios, quartilesOf } from "../results/noise.ts";
import type { EccRun } from "../results/results.ts";
import { rate, ratio } from "../results/results.ts";

interface Figure {
  readonly title: string;
  readonly lead?: string;
  /** The names of the programs; below, their names in the figure. */
  readonly programs: RegExp;
  readonly named: (program: string) => string;
}

const paperFigures: readonly Figure[] = [
  {
    title: "3-D Fourier transform",
    lead: "Published: 3.0, by hand.",
    programs: /^fft3d$/,
    named: () => "256³",
  },
  {
    title: "Matrix product",
    lead: "Published: up to 4.0, by hand.",
    programs: /^matrixProduct$/,
    named: () => "4096²",
  },
  {
    title: "N-body, by the number of bodies",
    lead: "Published: below 1.10 for many bodies, by hand.",
    programs: /^nBody/,
    named: (name) => name.replace("nBody", ""),
  },
  {
    title: "Harder cases",
    lead: "Elements of 16, 8 and 4 bytes; neighbors, indirect indices and atomics.",
    programs: /^(copy|stencil|sparse|histogram)/,
    named: (name) => name,
  },
];

/** Returns every figure for which something was measured. */
export function figures(run: EccRun): Section[] {
  return [
    ...paperFigures.flatMap((figure) => overheadSection(run, figure)),
    ...transferSection(run),
    ...hostSection(run),
  ];
}

function overheadSection({ programs, schemes, size, runs }: EccRun, figure: Figure): BarsSection[] {
  const bars = programs
    .filter(({ name }) => figure.programs.test(name))
    .flatMap(({ name, overheads }) =>
      overheads.map((each) => {
        const group = size === "full" ? figure.named(name) : name;
        const spread = quartilesOf(each.protected, runs, (time) => time / each.unprotected.median);
        return barOf(group, each.scheme, each.ratio, ratio(each.ratio), spread);
      }),
    );
  const { title, lead } = figure;
  const axis = "protected / unprotected time";
  const noise = noiseOf(runs, ofRatios);
  return barsSection({ title, ...(lead && { lead }), axis, series: schemes, bars, noise });
}

function transferSection({ transfers, transferBytes, runs }: EccRun): BarsSection[] {
  const bars = transfers.flatMap(({ scheme, upload, mappedUpload, download }) =>
    (
      [
        ["writeBuffer", upload],
        ["written mapped", mappedUpload],
        ["read mapped", download],
      ] as const
    ).map(([group, times]) => {
      const perSecond = (milliseconds: number) => (1000 * transferBytes) / milliseconds;
      const gigabytes = (milliseconds: number) => perSecond(milliseconds) / 1e9;
      const label = rate(perSecond(times.median), "B/s");
      return barOf(group, scheme, gigabytes(times.median), label, quartilesOf(times, runs, gigabytes));
    }),
  );
  return barsSection({
    title: "Transfers",
    lead: `A buffer of ${transferBytes / 2 ** 20} MiB, from the call until it is there and verified. Check words are made before it leaves the host, and verified after it is back.`,
    axis: "GB/s",
    series: transfers.map(({ scheme }) => scheme),
    bars,
    noise: noiseOf(runs, "the rates at the quartiles of the time"),
  });
}

function hostSection({ host }: EccRun): TableSection[] {
  return tableSection(
    { title: "The host's side", lead: "Data per second on one core." },
    columnsOf(["Code"], ["Check words", "Encoded", "Verified"]),
    host.map(({ scheme, storage, encode, verify }) => [
      { text: scheme },
      { text: `${(100 * storage).toFixed(1)} %` },
      { text: rate(encode, "B/s") },
      { text: rate(verify, "B/s") },
    ]),
  );
}

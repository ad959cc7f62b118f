/** The figures of a campaign's report. */

import type { LineSummary } from "../../campaign/results/breakdowns.ts";
import type { Results } from "../../campaign/results/results.ts";
import { wilson } from "../../campaign/results/statistics.ts";
import type { Summary } from "../../campaign/results/summary.ts";
import type { Bar, Listing, Section } from "../../report/report.ts";
import { percents, proportion } from "./rates.ts";

/** The number of configurations in a figure, which is the number of a page's colors. */
const SERIES = 7;
/** The number of neighboring bits whose faults the plot of bits counts together. */
const BITS = 4;
/** The number of kernels whose text is shown. */
const LISTED = 4;

export function campaignFigures(summary: Summary, results: Results): Section[] {
  return [...programBars(summary), ...bitRanges(summary), ...lineListings(summary, results)];
}

const seriesOf = ({ settings }: Summary) => settings.configurations.map(({ name }) => name).slice(0, SERIES);

/** Returns the silent corruption of each program, over all structures. */
function programBars(summary: Summary): Section[] {
  const series = seriesOf(summary);
  const { settings, kernels } = summary;
  const bars = settings.programs.flatMap(({ name: program }) =>
    series.flatMap((configuration): Bar[] => {
      const of = kernels.filter((each) => each.program === program && each.configuration === configuration);
      const [events, trials] = [sum(of, ({ sdc }) => sdc.events), sum(of, ({ sdc }) => sdc.trials)];
      if (trials === 0) return [];
      const rate = wilson(events, trials, settings.confidence);
      const interval = { low: 100 * rate.low, high: 100 * rate.high };
      return [
        { group: program, series: configuration, value: 100 * rate.rate, label: percents(rate), interval },
      ];
    }),
  );
  if (bars.length === 0) return [];
  return [
    {
      kind: "bars",
      title: "Silent corruption, by program",
      lead: "Over all structures, those included that no configuration claims to cover.",
      axis: "percent of the faults that struck",
      series,
      bars,
      noise: `A whisker is the interval at ${100 * settings.confidence} % confidence.`,
    },
  ];
}

function bitRanges(summary: Summary): Section[] {
  const series = seriesOf(summary);
  const ranges = Array.from({ length: 32 / BITS }, (_, group) => group * BITS).flatMap((first) =>
    series.flatMap((configuration) => {
      const of = summary.bits.filter(
        (each) => each.configuration === configuration && each.bit >= first && each.bit < first + BITS,
      );
      const [events, trials] = [sum(of, ({ sdc }) => sdc.events), sum(of, ({ sdc }) => sdc.trials)];
      if (trials === 0) return [];
      const { rate, low, high } = wilson(events, trials, summary.settings.confidence);
      const at = `${first} to ${first + BITS - 1}`;
      return [{ series: configuration, at, value: 100 * rate, low: 100 * low, high: 100 * high }];
    }),
  );
  if (ranges.length === 0) return [];
  return [
    {
      kind: "ranges",
      title: "Sensitivity, by position of the flipped bit",
      lead: "Of single bits that flipped, over all structures, with the interval; 31 is the sign of a float, 23 to 30 are its exponent.",
      across: "position of the bit",
      axis: "silent corruption, percent",
      series,
      ranges,
    },
  ];
}

/** Returns the texts of the kernels that are most prone to silent corruption without protection. */
function lineListings({ lines, settings }: Summary, { units }: Results): Section[] {
  const unprotected = settings.configurations[0]!.name;
  const kernels = new Map<string, LineSummary[]>();
  for (const line of lines) {
    if (line.configuration !== unprotected || line.sdc.trials === 0) continue;
    const name = `${line.program}/${line.kernel}`;
    kernels.set(name, [...(kernels.get(name) ?? []), line]);
  }
  const listings = [...kernels.values()]
    .sort((a, b) => worst(b) - worst(a))
    .slice(0, LISTED)
    .flatMap((of): Listing[] => {
      const { program, kernel } = of[0]!;
      const unit = units.find((each) => each.program === program && each.configuration === unprotected);
      const source = unit?.kernels.find((each) => each.kernel === kernel)?.source;
      if (source === undefined) return [];
      return [
        {
          title: kernel === program ? program : `${program}: ${kernel}`,
          source,
          remarks: of.map(({ line, sdc }) => ({
            line,
            text: `${proportion(sdc.rate)} of ${sdc.trials}`,
            weight: sdc.rate,
          })),
        },
      ];
    });
  if (listings.length === 0) return [];
  return [
    {
      kind: "listings",
      title: "Lines most prone to silent corruption",
      lead: "Without protection: how many of the faults that struck a line ended in wrong results.",
      listings,
    },
  ];
}

/** Returns the highest lower bound of silent corruption among a kernel's lines. */
const worst = (lines: readonly LineSummary[]) => Math.max(...lines.map(({ sdc }) => sdc.low));

const sum = <T>(items: readonly T[], value: (item: T) => number) =>
  items.reduce((total, item) => total + value(item), 0);

import type { Bar, BarsSection, Section } from "belay-cli/internal/report/report";
import { barsSection, columnsOf, tableSection } from "belay-cli/internal/report/sections";
import type { TimedRuns } from "../../bench/measuring/attempt.ts";
import type { SpeculationProgram } from "../../bench/speculation/program.ts";
import { type Variant, variants } from "../../bench/speculation/variants.ts";
import { quartilesOf } from "../results/noise.ts";
import type { SpeculationRun } from "../results/results.ts";
import {
  bySize,
  checkingTable,
  digits,
  hardenedTable,
  isMeasured,
  isTimed,
  misspeculationTable,
  phaseTable,
  type Timed,
  timesOf,
  transfersTable,
} from "./tables.ts";

/** Returns every figure for which something was measured, in the paper's order. */
export function figures({ programs, growth, threads }: SpeculationRun): Section[] {
  return [
    ...bySize(programs).flatMap(({ programs, suffix }) => [
      ...speedupSection(programs, `C${suffix}`, ({ c }) => c),
      ...speedupSection(programs, `JavaScript${suffix}`, ({ javascript }) => javascript),
      ...besideSection(programs, suffix, threads),
    ]),
    ...transfersTable(programs),
    ...misspeculationTable(programs),
    ...phaseTable(programs),
    ...checkingTable(programs),
    ...hardenedTable(programs),
    ...growthSections(growth),
  ];
}

/** Returns figure 8, with the ablations. */
function speedupSection(
  programs: readonly SpeculationProgram[],
  over: string,
  reference: (program: SpeculationProgram) => Timed,
): BarsSection[] {
  const series = (Object.keys(variants) as Variant[]).filter(
    (variant) => variants[variant].kinds.includes("moved") && variant !== "hardened",
  );
  const bars = programs.flatMap((program) => {
    const before = reference(program);
    if (!isTimed(before)) return [];
    return series.flatMap((variant) => {
      const after = timesOf(program.variants[variant], "moved");
      return isTimed(after) ? [bar(program.name, variant, after, (time) => before.median / time)] : [];
    });
  });
  return barsSection({
    title: `Speedups over ${over} (figure 8)`,
    lead: "Times faster, with arrays moved to the GPU and back. What is missing belongs to the published engine.",
    axis: "speedup",
    series: drawn(series, bars),
    bars,
    noise: whiskers,
  });
}

/** Returns figure 9. */
function besideSection(
  programs: readonly SpeculationProgram[],
  suffix: string,
  threads: number,
): BarsSection[] {
  const onThreads = `${threads} threads`;
  const series = [onThreads, "default", "published", "unchecked GPU"];
  const bars = programs.flatMap((program) => {
    const measured: Record<string, Timed> = {
      [onThreads]: program.threads,
      default: timesOf(program.variants.default, "resident"),
      published: timesOf(program.variants.published, "resident"),
      "unchecked GPU": timesOf(program.variants.unchecked, "resident"),
    };
    return series.flatMap((name) => {
      const after = measured[name];
      const { javascript } = program;
      return isTimed(after) && isTimed(javascript)
        ? [bar(program.name, name, after, (time) => javascript.median / time)]
        : [];
    });
  });
  return barsSection({
    title: `Beside speculation on the CPU, and the GPU without speculation${suffix} (figure 9)`,
    lead: "Times faster than JavaScript, without moving data or starting threads. The unchecked GPU is right only where iterations are independent.",
    axis: "speedup over JavaScript",
    series: drawn(series, bars),
    bars,
    noise: whiskers,
  });
}

function growthSections(growth: readonly SpeculationProgram[]): Section[] {
  const shown = ["default", "published", "unchecked"] as const satisfies readonly Variant[];
  const bars = growth.flatMap((program) =>
    shown.flatMap((variant) => {
      const times = timesOf(program.variants[variant], "resident");
      return isTimed(times)
        ? [bar(program.size, variant, times, (time) => (1e6 * time) / program.iterations, " ns")]
        : [];
    }),
  );
  return [
    ...barsSection({
      title: "Cost of an iteration, as the loop grows",
      lead: "Gathers and scatters, of which one in a thousand reads what the one before it wrote; resident arrays.",
      axis: "nanoseconds for each iteration",
      series: drawn(shown, bars),
      bars,
      noise: whiskers,
    }),
    ...tableSection(
      {
        title: "Memory of an iteration, as the loop grows",
        lead: "Bytes on the GPU besides the arrays, for each iteration.",
      },
      columnsOf(["Iterations"], shown),
      growth.map((program) => [
        { text: program.size },
        ...shown.map((variant) => {
          const measured = program.variants[variant];
          return { text: isMeasured(measured) ? digits(measured.workingBytes / program.iterations) : "" };
        }),
      ]),
    ),
  ];
}

/** Returns the series that have bars. */
const drawn = (series: readonly string[], bars: readonly Bar[]) =>
  series.filter((each) => bars.some((bar) => bar.series === each));

/** The sentence on the noise of a figure. Measurements that take long have fewer runs. */
const whiskers =
  "A whisker spans the middle half of the runs: the value at the quartiles of the time that is measured, with the median of the time that it is compared with. A bar of one run says so.";

/** Returns a bar with the value of the median time, and with those of the quartiles. */
function bar(
  group: string,
  series: string,
  times: TimedRuns,
  toValue: (milliseconds: number) => number,
  unit = "×",
): Bar {
  const value = toValue(times.median);
  const interval = quartilesOf(times, times.runs, toValue);
  const label = `${digits(value)}${unit}${interval ? "" : ", one run"}`;
  return { group, series, value, label, ...(interval && { interval }) };
}

/** The figures of the paper on speculation, as sections of a report. */
import type { Failed } from "../bench/attempt.ts";
import type { SpeculationProgram } from "../bench/speculation.ts";
import { type Measured, type Variant, variants } from "../bench/speculationVariant.ts";
import type { Bar, BarsSection, Cell, Section, TableSection } from "../report/report.ts";
import type { SpeculationRun } from "./benchSpeculation.ts";
import {
  isMeasured,
  isTimed,
  milliseconds,
  percent,
  ratio,
  type Timed,
  timesOf,
  titleOf,
} from "./benchSpeculationTimes.ts";
import { barsSection, columnsOf, tableSection } from "./sections.ts";

/** Every figure for which something was measured, in the paper's order. */
export function figures({ programs, growth, threads }: SpeculationRun): Section[] {
  return [
    ...speedupSection(programs, "C", ({ c }) => c),
    ...speedupSection(programs, "JavaScript", ({ javascript }) => javascript),
    ...besideSection(programs, threads),
    ...misspeculationTable(programs),
    ...phaseSection(programs),
    ...checkingTable(programs),
    ...growthSections(growth),
  ];
}

/** Figure 8, with the ablations. */
function speedupSection(
  programs: readonly SpeculationProgram[],
  over: string,
  reference: (program: SpeculationProgram) => Timed,
): BarsSection[] {
  const series = Object.keys(variants) as (keyof typeof variants)[];
  const bars = programs.flatMap((program) => {
    const before = reference(program);
    if (!isTimed(before)) return [];
    return series.flatMap((variant) => {
      const after = timesOf(program.variants[variant], "moved");
      return isTimed(after) ? [bar(titleOf(program), variant, before.median / after.median)] : [];
    });
  });
  const lead = `Times faster than ${over}, with arrays moved to the GPU and back. Without reuse, the default engine checks again what earlier executions have proven; what else is missing belongs to the published engine.`;
  return barsSection({
    title: `Speedups over ${over} (figure 8)`,
    lead,
    axis: `speedup over ${over}`,
    series,
    bars,
  });
}

/** Figure 9. */
function besideSection(programs: readonly SpeculationProgram[], threads: number): BarsSection[] {
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
        ? [bar(titleOf(program), name, javascript.median / after.median)]
        : [];
    });
  });
  return barsSection({
    title: "Beside speculation on the CPU, and the GPU without speculation (figure 9)",
    lead: "Times faster than JavaScript, without moving data or starting threads. The unchecked GPU is right only where iterations are independent.",
    axis: "speedup over JavaScript",
    series,
    bars,
  });
}

/** Figure 10. */
function misspeculationTable(programs: readonly SpeculationProgram[]): TableSection[] {
  const shown = ["default", "published", "no scheduling"] as const;
  return tableSection(
    {
      title: "Misspeculation (figure 10)",
      lead: "Executions in vain for each iteration, and rounds. The default engine counts iterations that a round looked at and left to a later one; its first call knows nothing of the data.",
    },
    columnsOf(
      ["Loop"],
      [
        ...["default, first call", "rounds"],
        ...shown.flatMap((variant) => [variant, "rounds"]),
        ...["threads", "on the CPU (default)"],
      ],
    ),
    programs.map((program) => {
      const { variants, threads } = program;
      const counts = (counted: Pick<Measured, "misspeculation" | "rounds"> | undefined): Cell[] => [
        { text: counted ? percent(counted.misspeculation) : "" },
        { text: counted ? String(counted.rounds) : "" },
      ];
      const all = [variants.default, ...shown.map((variant) => variants[variant])];
      const [first, ...others] = all.map((each) => (isMeasured(each) ? each : undefined));
      return [
        { text: titleOf(program) },
        ...counts(first?.first),
        ...others.flatMap(counts),
        { text: threads && "misspeculation" in threads ? percent(threads.misspeculation) : "" },
        { text: isMeasured(variants.default) ? percent(variants.default.onCpu) : "" },
      ];
    }),
  );
}

/** Figure 11: what the phases take. */
function phaseSection(programs: readonly SpeculationProgram[]): Section[] {
  const rows = programs.flatMap((program) =>
    (["default", "published"] as const).flatMap((variant): Cell[][] => {
      const measured = program.variants[variant];
      if (!isMeasured(measured) || !measured.phases) return [];
      const { phases } = measured;
      const all = Object.values(phases).reduce((sum, each) => sum + each, 0);
      const share = (name: keyof typeof phases) => ({ text: all > 0 ? percent(phases[name] / all) : "" });
      return [
        [
          { text: titleOf(program) },
          { text: variant },
          { text: milliseconds(all) },
          share("scheduling"),
          share("computation"),
          share("check"),
          share("commit"),
          share("recovery"),
        ],
      ];
    }),
  );
  return tableSection(
    { title: "Time of the phases (figure 11)", lead: "On the GPU's clock, one call." },
    columnsOf(["Loop", "Engine"], ["All", "scheduling", "computation", "check", "commit", "recovery"]),
    rows,
  );
}

/** Figure 11: checked and unchecked. */
function checkingTable(programs: readonly SpeculationProgram[]): TableSection[] {
  const rows = programs.flatMap((program): Cell[][] => {
    const { default: checked, "no reuse": again, published, unchecked } = program.variants;
    if (!isMeasured(unchecked)) return [];
    const times = (measured: Measured | Failed | undefined) => ({
      text: isMeasured(measured) ? ratio(measured.resident.median / unchecked.resident.median) : "",
    });
    return [
      [
        { text: titleOf(program) },
        { text: milliseconds(unchecked.resident.median) },
        { text: unchecked.right ? "right" : "wrong" },
        times(checked),
        times(again),
        times(published),
      ],
    ];
  });
  return tableSection(
    {
      title: "What checking costs (figure 11)",
      lead: "Resident arrays; times of the same loop run all at once without any check.",
    },
    [
      ...columnsOf(["Loop"], ["Unchecked"], ["Its result"]),
      ...columnsOf([], ["default", "no reuse", "published"]),
    ],
    rows,
  );
}

function growthSections(growth: readonly SpeculationProgram[]): Section[] {
  const shown = ["default", "published", "unchecked"] as const satisfies readonly Variant[];
  const series = ["JavaScript", ...shown];
  const bars = growth.flatMap((program) => {
    const nanoseconds = (times: number) => (1e6 * times) / program.iterations;
    return [
      ...(isTimed(program.javascript)
        ? [bar(program.size, "JavaScript", nanoseconds(program.javascript.median), " ns")]
        : []),
      ...shown.flatMap((variant) => {
        const times = timesOf(program.variants[variant], "resident");
        return isTimed(times) ? [bar(program.size, variant, nanoseconds(times.median), " ns")] : [];
      }),
    ];
  });
  return [
    ...barsSection({
      title: "Cost of an iteration, as the loop grows",
      lead: "Gathers and scatters, of which one in a thousand reads what the one before it wrote; resident arrays.",
      axis: "nanoseconds for each iteration",
      series,
      bars,
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
          const each = isMeasured(measured) ? measured.workingBytes / program.iterations : undefined;
          return { text: each?.toPrecision(3) ?? "" };
        }),
      ]),
    ),
  ];
}

const bar = (group: string, series: string, value: number, unit = "×"): Bar => ({
  group,
  series,
  value,
  label: `${value.toPrecision(3)}${unit}`,
});

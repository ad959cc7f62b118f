import Table from "cli-table3";
import { geometricMean } from "simple-statistics";
import type { Failed } from "../bench/attempt.ts";
import { isRight, type SpeculationProgram } from "../bench/speculation.ts";
import { type Measured, type Variant, variants } from "../bench/speculationVariant.ts";
import type { Bar, BarsSection, Cell, Report, Section, TableSection } from "../report/report.ts";
import type { SpeculationRun } from "./benchSpeculation.ts";
import { colorsFor, type Io } from "./io.ts";
import { caveatOf, machineFacts } from "./machine.ts";

/** Puts the measurements into a report's terms. */
export function describeSpeculation(run: SpeculationRun): Report {
  const { programs, growth, adapter, size, runs, threads } = run;
  const wrong = [...programs, ...growth].filter((program) => !isRight(program));
  const noCompiler = programs.every(({ c }) => "failed" in c);
  return {
    title: "belay bench speculation",
    verdict: {
      ok: run.ok,
      headline: run.ok
        ? `${programs.length} loops measured, every result right`
        : `${wrong.length} loops went wrong, or took too long: ${wrong.map(titleOf).join(", ")}`,
      detail: `Size ${size}, medians of ${runs} runs at most, on ${adapter.description}.${caveatOf(adapter)}${meansOverC(programs)}${noCompiler ? " Without a C compiler the columns for C are empty." : ""}`,
    },
    sections: [
      {
        ...summaryTable(run),
        lead: "Wall-clock time of a whole call, and how many times faster it is than the loop in order.",
      },
      ...speedupSection(programs, "C", "Speedups over C (figure 8)", ({ c }) => c),
      ...speedupSection(
        programs,
        "JavaScript",
        "Speedups over JavaScript (figure 8)",
        ({ javascript }) => javascript,
      ),
      ...besideSection(programs, threads),
      misspeculationTable(programs),
      ...phaseSection(programs),
      ...checkingTable(programs),
      ...growthSections(growth),
      ...problemsSection([...programs, ...growth]),
      {
        kind: "facts",
        title: "Machine",
        facts: [...machineFacts(run), ["Threads", String(threads)]],
      },
      {
        kind: "commands",
        title: "Reproduce",
        commands: [`belay bench speculation --size ${size} --runs ${runs}`],
      },
    ],
  };
}

/** How many times faster than C the default engine is, on average and at least. */
function meansOverC(programs: readonly SpeculationProgram[]): string {
  const of = (kind: "moved" | "resident") => {
    const times = programs.flatMap(({ c, variants }) => {
      const after = timesOf(variants.default, kind);
      return isTimed(c) && isTimed(after) ? [c.median / after.median] : [];
    });
    if (times.length === 0) return null;
    return `${ratio(geometricMean(times))} (from ${ratio(Math.min(...times))})`;
  };
  const [moved, resident] = [of("moved"), of("resident")];
  if (moved === null) return "";
  return ` Geometric mean over C: ${moved} with arrays moved, ${resident} with resident ones.`;
}

/** The verdict and the table of loops, for a terminal. */
export function renderSummary(run: SpeculationRun, io: Io): string {
  const color = colorsFor(io.stdout);
  const { verdict } = describeSpeculation(run);
  const { columns, rows } = summaryTable(run);
  const table = new Table({
    head: columns.map(({ label }) => label),
    colAligns: columns.map(({ align }) => (align === "end" ? "right" : "left")),
    style: { head: [], border: [], compact: true },
  });
  table.push(...rows.map((row) => row.map(({ text, ok }) => (ok === false ? color.red(text) : text))));
  const paint = verdict.ok ? color.green : color.red;
  return [paint(color.bold(verdict.headline)), color.dim(verdict.detail), table.toString(), ""].join("\n");
}

/** One loop in a line. */
export function renderProgram(program: SpeculationProgram, threads: number): string {
  const { columns, rows } = summaryTable({ programs: [program], threads });
  const [title, ...cells] = rows[0]!;
  const told = cells.flatMap(({ text }, n) => (text ? [`${columns[n + 1]!.label} ${text}`] : []));
  const failed = problemsOf(program).map(([, variant, problem]) => `${variant!.text}: ${problem!.text}`);
  return `${title!.text}: ${[...told, ...failed].join(", ")}`;
}

function summaryTable({ programs, threads }: Pick<SpeculationRun, "programs" | "threads">): TableSection {
  const end = { align: "end" } as const;
  return {
    kind: "table",
    title: "Loops",
    columns: [
      { label: "Loop" },
      { label: "Result" },
      { label: "Iterations", ...end },
      { label: "C", ...end },
      { label: "JavaScript", ...end },
      { label: `${threads} threads`, ...end },
      { label: "default", ...end },
      { label: "resident", ...end },
      { label: "published", ...end },
      { label: "resident", ...end },
      { label: "unchecked", ...end },
    ],
    rows: programs.map((program) => {
      const { javascript, variants } = program;
      const faster = (measured: Timed) => ({
        text: isTimed(measured)
          ? [milliseconds(measured.median), ...over(javascript, measured)].join(" ")
          : "",
      });
      return [
        { text: titleOf(program) },
        { text: verdictOn(program), ok: isRight(program) },
        { text: program.iterations.toLocaleString("en") },
        faster(program.c),
        { text: isTimed(javascript) ? milliseconds(javascript.median) : "" },
        faster(program.threads),
        ...(["default", "published"] as const).flatMap((variant) =>
          (["moved", "resident"] as const).map((kind) => faster(timesOf(variants[variant], kind))),
        ),
        faster(timesOf(variants.unchecked, "resident")),
      ];
    }),
  };
}

type Timed = { readonly median: number } | Failed | undefined;
const over = (before: Timed, after: { readonly median: number }) =>
  isTimed(before) ? [`(${ratio(before.median / after.median)})`] : [];
const isTimed = (times: Timed): times is { readonly median: number } =>
  times !== undefined && "median" in times;
const isMeasured = (measured: Measured | Failed | undefined): measured is Measured =>
  measured !== undefined && "right" in measured;

function timesOf(measured: Measured | Failed | undefined, kind: "moved" | "resident"): Timed {
  return isMeasured(measured) ? measured[kind] : measured;
}

const titleOf = ({ name, size }: SpeculationProgram) => (size === "small" ? name : `${name}, ${size}`);

/** Figure 8, with the ablations. */
function speedupSection(
  programs: readonly SpeculationProgram[],
  over: string,
  title: string,
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
  const lead = `Times faster than ${over}, with arrays moved to the GPU and back. What is missing belongs to the published engine.`;
  return barsSection({ title, lead, axis: `speedup over ${over}`, series, bars });
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
function misspeculationTable(programs: readonly SpeculationProgram[]): TableSection {
  const end = { align: "end" } as const;
  const shown = ["default", "published", "no scheduling"] as const;
  return {
    kind: "table",
    title: "Misspeculation (figure 10)",
    lead: "Executions in vain for each iteration, and rounds. The default engine counts iterations that a round looked at and left to a later one.",
    columns: [
      { label: "Loop" },
      ...shown.flatMap((variant) => [
        { label: variant, ...end },
        { label: "rounds", ...end },
      ]),
      { label: "threads", ...end },
      { label: "on the CPU (default)", ...end },
    ],
    rows: programs.map((program) => {
      const { variants, threads } = program;
      return [
        { text: titleOf(program) },
        ...shown.flatMap((variant): Cell[] => {
          const measured = variants[variant];
          if (!isMeasured(measured)) return [{ text: "" }, { text: "" }];
          return [{ text: percent(measured.misspeculation) }, { text: String(measured.rounds) }];
        }),
        { text: threads && "misspeculation" in threads ? percent(threads.misspeculation) : "" },
        { text: isMeasured(variants.default) ? percent(variants.default.onCpu) : "" },
      ];
    }),
  };
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
  if (rows.length === 0) return [];
  const end = { align: "end" } as const;
  return [
    {
      kind: "table",
      title: "Time of the phases (figure 11)",
      lead: "On the GPU's clock, one call.",
      columns: [
        { label: "Loop" },
        { label: "Engine" },
        ...["All", "scheduling", "computation", "check", "commit", "recovery"].map((label) => ({
          label,
          ...end,
        })),
      ],
      rows,
    },
  ];
}

/** Figure 11: checked and unchecked. */
function checkingTable(programs: readonly SpeculationProgram[]): TableSection[] {
  const rows = programs.flatMap((program): Cell[][] => {
    const { default: checked, published, unchecked } = program.variants;
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
        times(published),
      ],
    ];
  });
  if (rows.length === 0) return [];
  const end = { align: "end" } as const;
  return [
    {
      kind: "table",
      title: "What checking costs (figure 11)",
      lead: "Resident arrays; times of the same loop run all at once without any check.",
      columns: [
        { label: "Loop" },
        { label: "Unchecked", ...end },
        { label: "Its result" },
        { label: "default", ...end },
        { label: "published", ...end },
      ],
      rows,
    },
  ];
}

function growthSections(growth: readonly SpeculationProgram[]): Section[] {
  if (growth.length === 0) return [];
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
  const end = { align: "end" } as const;
  return [
    ...barsSection({
      title: "Cost of an iteration, as the loop grows",
      lead: "Gathers and scatters, of which one in a thousand reads what the one before it wrote; resident arrays.",
      axis: "nanoseconds for each iteration",
      series,
      bars,
    }),
    {
      kind: "table",
      title: "Memory of an iteration, as the loop grows",
      lead: "Bytes on the GPU besides the arrays, for each iteration.",
      columns: [{ label: "Iterations" }, ...shown.map((label) => ({ label, ...end }))],
      rows: growth.map((program) => [
        { text: program.size },
        ...shown.map((variant) => {
          const measured = program.variants[variant];
          return {
            text: isMeasured(measured) ? (measured.workingBytes / program.iterations).toPrecision(3) : "",
          };
        }),
      ]),
    },
  ];
}

function problemsSection(programs: readonly SpeculationProgram[]): TableSection[] {
  const rows = programs.flatMap(problemsOf);
  if (rows.length === 0) return [];
  const columns = [{ label: "Loop" }, { label: "Variant" }, { label: "What happened" }];
  return [{ kind: "table", title: "What could not be measured, or is wrong", columns, rows }];
}

function verdictOn(program: SpeculationProgram): string {
  if (isRight(program)) return "right";
  return problemsOf(program).some((row) => row.some(({ ok }) => ok === false)) ? "WRONG" : "failed";
}

/** Rows of a loop, a variant of it, and what happened. */
function problemsOf(program: SpeculationProgram): Cell[][] {
  const { javascript, threads, variants } = program;
  const all: [string, object][] = [
    ["JavaScript", javascript],
    ...(threads ? [["threads", threads] as [string, object]] : []),
    ...Object.entries(variants),
  ];
  return all.flatMap(([name, measured]): Cell[][] => {
    if ("failed" in measured)
      return [[{ text: titleOf(program) }, { text: name }, { text: String(measured.failed) }]];
    if (name === "unchecked" || !("right" in measured) || measured.right) return [];
    return [[{ text: titleOf(program) }, { text: name }, { text: "the result is wrong", ok: false }]];
  });
}

const bar = (group: string, series: string, value: number, unit = "×"): Bar => ({
  group,
  series,
  value,
  label: `${value.toPrecision(3)}${unit}`,
});

function barsSection(section: Omit<BarsSection, "kind">): BarsSection[] {
  return section.bars.length === 0 ? [] : [{ kind: "bars", ...section }];
}

const milliseconds = (value: number) => `${value.toPrecision(3)} ms`;
const ratio = (value: number) => `${value.toPrecision(3)}×`;
const percent = (value: number) => `${(100 * value).toPrecision(3)} %`;

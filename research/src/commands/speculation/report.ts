import type { ReportDocument, TableCell, TableSection } from "belay-cli/internal/report/report";
import { columnsOf, tableSection } from "belay-cli/internal/report/sections";
import { caveatOf, machineFacts } from "belay-cli/internal/shared/machine";
import { plural } from "belay-gpu/internal/diagnostics/plural";
import { geometricMean } from "simple-statistics";
import type { SpeculationProgram } from "../../bench/speculation/program.ts";
import { inTime, isRight } from "../../bench/speculation/speculation.ts";
import type { SpeculationRun } from "../results/results.ts";
import { judge } from "../results/results.ts";
import { figures } from "./figures.ts";
import { bySize, digits, isTimed, ratio, type Timed, timesOf, titleOf } from "./tables.ts";

/** Returns the measurements as a report. */
export function describeSpeculation(run: SpeculationRun): ReportDocument {
  const { programs, growth, adapter, runs, threads, compiler } = run;
  const sizes = [...new Set(programs.map(({ size }) => size))];
  const all = [...programs, ...growth];
  const isLate = (program: SpeculationProgram) => !isRight(program) && isRight(inTime(program));
  return {
    title: "belay bench speculation",
    verdict: {
      ...judge({
        count: programs.length,
        kind: "loop",
        wrong: all.filter((program) => !isRight(inTime(program))).map(titleOf),
        incomplete: all.filter(isLate).map(titleOf),
        right: "every result right",
        next: "belay speculate shows what becomes of the loops in a file of your own.",
      }),
      detail: `Milliseconds, medians of ${plural(runs, "run")} at most, on ${adapter.description}.${caveatOf(adapter)}${sizes.map((size) => meansOverC(programs, size)).join("")}${compiler === null ? " Without a C compiler the columns for C are empty." : ""}`,
    },
    sections: [
      ...bySize(programs).map(
        ({ programs, suffix }): TableSection => ({
          ...summaryTable({ ...run, programs }, ({ name }) => name),
          title: `Loops${suffix}`,
          lead: "Milliseconds of a whole call, of fewer runs where it says so. In parentheses: how many times faster the default engine is than JavaScript.",
        }),
      ),
      ...figures(run),
      ...problemsSection([...programs, ...growth]),
      {
        kind: "facts",
        title: "Machine",
        facts: [
          ["Paper", "Feng, Gupta and Bhuyan, Optimistic parallelism on GPUs, LCPC 2013 (proceedings 2014)"],
          ...machineFacts(run),
          ["Threads", String(threads)],
          ...(compiler ? [["C compiler", compiler] as const] : []),
        ],
      },
      {
        kind: "commands",
        title: "Reproduce",
        commands: run.commands,
      },
    ],
  };
}

/**
 * Returns how many times faster than C the default engine is at a size, on average and at least.
 */
function meansOverC(programs: readonly SpeculationProgram[], size: string): string {
  const of = (kind: "moved" | "resident") => {
    const times = programs.flatMap(({ c, variants, size: own }) => {
      if (own !== size) return [];
      const after = timesOf(variants.default, kind);
      return isTimed(c) && isTimed(after) ? [c.median / after.median] : [];
    });
    if (times.length === 0) return null;
    return `${ratio(geometricMean(times))} (from ${ratio(Math.min(...times))})`;
  };
  const [moved, resident] = [of("moved"), of("resident")];
  if (moved === null) return "";
  return ` Geometric mean over C, ${size}: ${moved} with arrays moved, ${resident} with resident ones.`;
}

/** Returns one loop's results in a line. */
export function lineFor(
  program: SpeculationProgram,
  about: Pick<SpeculationRun, "threads" | "runs">,
): string {
  const { columns, rows } = summaryTable({ programs: [program], ...about });
  const [title, ...cells] = rows[0]!;
  const told = cells.flatMap(({ text }, n) => (text ? [`${columns[n + 1]!.label} ${text}`] : []));
  const failed = problemsOf(program).map(([, variant, problem]) => `${variant!.text}: ${problem!.text}`);
  return `${title!.text}, in milliseconds: ${[...told, ...failed].join(", ")}`;
}

/** Returns a table with one row for each loop. */
export function summaryTable(
  { programs, threads, runs }: Pick<SpeculationRun, "programs" | "threads" | "runs">,
  title = titleOf,
): TableSection {
  const time = (measured: Timed, more: readonly string[] = []) => ({
    text: isTimed(measured)
      ? [digits(measured.median), ...more, ...(measured.runs < runs ? [`of ${measured.runs}`] : [])].join(" ")
      : "",
  });
  return {
    kind: "table",
    title: "Loops",
    columns: columnsOf(
      ["Loop", "Result"],
      [
        "Iterations",
        "C",
        "JavaScript",
        `${threads} threads`,
        "default",
        "resident",
        "published",
        "resident",
        "unchecked",
      ],
    ),
    rows: programs.map((program) => {
      const { javascript, variants } = program;
      return [
        { text: title(program) },
        verdictOn(program),
        { text: program.iterations.toLocaleString("en") },
        ...[program.c, javascript, program.threads].map((measured) => time(measured)),
        ...(["moved", "resident"] as const).map((kind) => {
          const measured = timesOf(variants.default, kind);
          return time(measured, over(javascript, measured));
        }),
        ...(["moved", "resident"] as const).map((kind) => time(timesOf(variants.published, kind))),
        time(timesOf(variants.unchecked, "resident")),
      ];
    }),
  };
}

const over = (before: Timed, after: Timed) =>
  isTimed(before) && isTimed(after) ? [`(${ratio(before.median / after.median)})`] : [];

function problemsSection(programs: readonly SpeculationProgram[]): TableSection[] {
  return tableSection(
    { title: "What could not be measured, or is wrong" },
    columnsOf(["Loop", "Variant", "What happened"], []),
    programs.flatMap(problemsOf),
  );
}

function verdictOn(program: SpeculationProgram): TableCell {
  if (isRight(program)) return { text: "right", ok: true };
  if (isRight(inTime(program))) return { text: "right, but incomplete", ok: null };
  const isWrong = problemsOf(program).some((row) => row.some(({ text }) => text === wrongResult));
  return { text: isWrong ? "WRONG" : "FAILED", ok: false };
}

const wrongResult = "the result is wrong";

/** Returns rows with a loop, one of its variants, and the problem. */
function problemsOf(program: SpeculationProgram): TableCell[][] {
  const { javascript, threads, variants } = program;
  const all: [string, object][] = [
    ...(javascript ? [["JavaScript", javascript] as [string, object]] : []),
    ...(threads ? [["threads", threads] as [string, object]] : []),
    ...(Object.entries(variants) as [string, object][]),
  ];
  return all.flatMap(([name, measured]): TableCell[][] => {
    if ("failed" in measured)
      return [
        [
          { text: titleOf(program) },
          { text: name },
          { text: String(measured.failed), ok: "late" in measured ? null : false },
        ],
      ];
    if (name === "unchecked" || !("right" in measured) || measured.right) return [];
    return [[{ text: titleOf(program) }, { text: name }, { text: wrongResult, ok: false }]];
  });
}

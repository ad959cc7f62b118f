import type { BarsSection, ReportDocument, TableSection } from "belay-cli/internal/report/report";
import { barOf, barsSection, columnsOf, tableSection } from "belay-cli/internal/report/sections";
import { caveatOf, machineFacts } from "belay-cli/internal/shared/machine";
import { plural } from "belay-gpu/internal/diagnostics/plural";
import { isSound, type PolicyName, type ProgramTimes } from "../../bench/programs/programs.ts";
import { noiseOf, quartilesOf } from "../results/noise.ts";
import { judge, milliseconds, type ProgramsRun, ratio } from "../results/results.ts";

/** Returns the measurements as a report. */
export function describePrograms(run: ProgramsRun): ReportDocument {
  const { programs, adapter, size, runs, warmup } = run;
  return {
    title: "belay bench programs",
    verdict: {
      ...judge({
        count: programs.length,
        kind: "program",
        wrong: programs.filter((program) => !isSound(program)).map(({ name }) => name),
        incomplete: [],
        right: "every result bit-identical, no false alarm",
        next: "belay tune measures which protection costs a program of your own least.",
      }),
      detail: `Size ${size}, ${plural(runs, "run")} each after ${warmup} others, on ${adapter.description}.${caveatOf(adapter)}`,
    },
    sections: [
      {
        ...summaryTable(run),
        lead: "Medians of wall time from the first call to a verified result; ratios of hardened to plain, run alternately. The last row has the geometric means.",
      },
      ...overheadSection(run),
      ...firstSection(run),
      ...hostSection(run),
      { kind: "facts", title: "Machine", facts: machineFacts(run) },
      {
        kind: "commands",
        title: "Reproduce",
        commands: [
          `belay bench programs --size ${size} --warmup ${warmup} --runs ${runs} --policies ${policiesIn(run).join(",")}`,
        ],
      },
    ],
  };
}

/** Returns a table with one row for each program: its plain time, and the ratio of each policy. */
export function summaryTable(run: ProgramsRun): TableSection {
  const names = policiesIn(run);
  const ratioOf = ({ policies }: ProgramTimes, name: PolicyName) =>
    policies.find(({ policy }) => policy === name)?.ratio;
  const rows = run.programs.map((program) => [
    { text: program.name },
    { text: program.failure ?? (isSound(program) ? "right" : "WRONG"), ok: isSound(program) },
    { text: milliseconds(program.plain.median) },
    ...names.map((name) => ({ text: ratio(ratioOf(program, name)) })),
  ]);
  const means = names.map((name) =>
    geometricMean(run.programs.flatMap((program) => ratioOf(program, name) ?? [])),
  );
  const last = [{ text: "geometric mean" }, { text: "" }, { text: "" }];
  return {
    kind: "table",
    title: "Programs",
    columns: columnsOf(["Program", "Result"], ["Plain", ...names], []),
    rows: [...rows, [...last, ...means.map((mean) => ({ text: ratio(mean) }))]],
  };
}

export function geometricMean(ratios: readonly number[]): number | undefined {
  if (ratios.length === 0) return undefined;
  return Math.exp(ratios.reduce((sum, each) => sum + Math.log(each), 0) / ratios.length);
}

const policiesIn = ({ programs }: ProgramsRun): PolicyName[] => [
  ...new Set(programs.flatMap(({ policies }) => policies.map(({ policy }) => policy))),
];

function overheadSection(run: ProgramsRun): BarsSection[] {
  const { programs, runs } = run;
  return barsSection({
    title: "Overhead of each policy",
    axis: "hardened / plain time",
    series: policiesIn(run),
    reference: 1,
    noise: noiseOf(runs, "the quartiles of hardened time, over the median of plain time"),
    bars: programs.flatMap(({ name, plain, policies }) =>
      policies.map(({ policy, times, ratio }) =>
        barOf(
          name,
          policy,
          ratio,
          ratio.toFixed(2),
          quartilesOf(times, runs, (time) => time / plain.median),
        ),
      ),
    ),
  });
}

function firstSection({ programs }: ProgramsRun) {
  return tableSection(
    {
      title: "First results, and memory",
      lead: "The time from hardening a device to the first result, with the compilation of all kernels, and the ratio of the seven runs after it. Copies: how often earlier contents were copied, and the most GPU memory for them. Held: the buffers that Belay has at the end, beside the program's.",
    },
    columnsOf(
      ["Program", "Policy"],
      ["Plain", "Hardened", "Ratio", "Next runs", "Copies", "Copies, MB", "Held, MB"],
      [],
    ),
    programs.flatMap(({ name, plainFirst, policies }) =>
      policies.map(({ policy, first, early, copies, peakBytes, heldBytes }) => [
        { text: name },
        { text: policy },
        { text: milliseconds(plainFirst) },
        { text: milliseconds(first) },
        { text: ratio(first / plainFirst) },
        { text: ratio(early) },
        { text: String(copies) },
        { text: (peakBytes / 1e6).toFixed(1) },
        { text: (heldBytes / 1e6).toFixed(1) },
      ]),
    ),
  );
}

function hostSection({ host }: ProgramsRun) {
  const text = (microseconds: number) => ({ text: `${microseconds.toFixed(2)} µs` });
  return tableSection(
    { title: "Host time of calls", lead: "Medians of the time that the host spends on each call." },
    columnsOf(["Device"], ["Dispatch and submit", "Dispatch in a pass", "createBuffer", "writeBuffer"], []),
    host.map(({ device, dispatch, dispatchInPass, createBuffer, writeBuffer }) => [
      { text: device },
      text(dispatch),
      text(dispatchInPass),
      text(createBuffer),
      text(writeBuffer),
    ]),
  );
}

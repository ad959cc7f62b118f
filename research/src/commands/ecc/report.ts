import type { ReportDocument, Section, TableCell, TableSection } from "belay-cli/internal/report/report";
import { columnsOf, tableSection } from "belay-cli/internal/report/sections";
import { caveatOf, machineFacts } from "belay-cli/internal/shared/machine";
import { plural } from "belay-gpu/internal/diagnostics/plural";
import { corrects } from "belay-gpu/internal/ecc/scheme";
import { isContained } from "../../bench/ecc/flips.ts";
import { type EccProgram, isSound } from "../../bench/ecc/program.ts";
import { comparedSchemes } from "../../ecc/index.ts";
import { ceilingFacts, type EccRun, judge, milliseconds, ratio } from "../results/results.ts";
import { figures } from "./figures.ts";

/** Returns the measurements as a report. */
export function describeEcc(run: EccRun): ReportDocument {
  const { programs, adapter, size, runs } = run;
  const together = run.redundancy === "none" ? "" : `, with kernels under ${run.redundancy}`;
  return {
    title: "belay bench ecc",
    verdict: {
      ...judge({
        count: programs.length,
        kind: "program",
        wrong: programs.filter((program) => !isSound(program)).map(({ name }) => name),
        incomplete: [],
        right: "every result right, no false report",
        next: "belay tune --memory measures which code costs a program of your own least.",
      }),
      detail: `Size ${size}, ${plural(runs, "run")} each${together}, on ${adapter.description}.${caveatOf(adapter)}`,
    },
    sections: [
      {
        ...summaryTable(run),
        lead: "Medians of GPU time; ratios of protected to unprotected, run alternately. Auto: of the codes that correct, the one that the cost model takes from the text of the kernels, and the one that a short measurement takes where the text leaves a question; and how far from the best they are.",
      },
      ...figures(run),
      ...predictionSection(run),
      ...flipSection(run),
      ...faultFreeSection(run),
      ...problemsSection(run),
      {
        kind: "facts",
        title: "Machine",
        facts: [
          ["Paper", "Maruyama, Nukada and Matsuoka, Software-based ECC for GPUs, 2009"],
          ...machineFacts(run),
          ...(run.ceilings ? ceilingFacts(run.ceilings) : []),
        ],
      },
      {
        kind: "commands",
        title: "Reproduce",
        commands: [
          `belay bench ecc --size ${size} --runs ${runs} --schemes ${run.schemes.join(",")} --redundancy ${run.redundancy}`,
        ],
      },
    ],
  };
}

/**
 * Returns a table with one row for each program: its unprotected time, the ratio of each code, and
 * the choice of the cost model.
 */
export function summaryTable({ programs, schemes: measured }: EccRun): TableSection {
  return {
    kind: "table",
    title: "Programs",
    columns: columnsOf(
      ["Program", "Result"],
      ["Unprotected", ...measured],
      ["Auto, from the text", "Auto, measured"],
    ),
    rows: programs.map((program) => [
      { text: program.name },
      { text: isSound(program) ? "right" : program.verdict.ok ? "FAILED" : "WRONG", ok: isSound(program) },
      { text: milliseconds(program.overheads[0]?.unprotected.median) },
      ...measured.map((name) => ({
        text: ratio(program.overheads.find(({ scheme }) => scheme === name)?.ratio),
      })),
      { text: automaticChoice(program, "fromText") },
      { text: automaticChoice(program, "measured") },
    ]),
  };
}

/** Returns the choice of `memory: "auto"`, and its excess over the best. */
function automaticChoice({ overheads, automatic }: EccProgram, how: "fromText" | "measured"): string {
  const correcting = overheads.filter(({ scheme }) => corrects(scheme, comparedSchemes));
  const taken = correcting.find(({ scheme }) => scheme === automatic?.[how]);
  if (!taken) return "";
  const best = Math.min(...correcting.map((each) => each.ratio));
  return `${taken.scheme} (+${(100 * (taken.ratio / best - 1)).toFixed(1)} %)`;
}

/** Returns the predictions beside the measurements, and their sources. */
function predictionSection({ programs }: EccRun): Section[] {
  const labels = ["Unprotected", "Protected", "Quartiles", "Measured", "Predicted", "Check words"];
  const rows = programs.flatMap((program) =>
    program.overheads.map((each): TableCell[] => [
      { text: program.name },
      { text: each.scheme },
      { text: milliseconds(each.unprotected.median) },
      { text: milliseconds(each.protected.median) },
      { text: `${milliseconds(each.protected.lower)} to ${milliseconds(each.protected.upper)}` },
      { text: ratio(each.ratio) },
      { text: ratio(each.predicted) },
      { text: `${(100 * each.storage).toFixed(1)} %` },
      { text: [...new Set(each.kernels.map(({ reason }) => reason))].join(" / ") },
    ]),
  );
  return tableSection(
    {
      title: "Prediction and measurement",
      lead: "The prediction reads the protected kernels and knows the device's ceilings, not how large buffers are. Check words: their bytes to those of the data.",
    },
    columnsOf(["Program", "Code"], labels, ["Because"]),
    rows,
  );
}

function flipSection({ programs }: EccRun): Section[] {
  const rows = programs.flatMap(({ name, flips }) =>
    flips.flatMap((each) =>
      (["single", "double"] as const).map((kind): TableCell[] => {
        const { struck, corrected, uncorrectable, runs, different, left } = each[kind];
        return [
          { text: name },
          { text: `${each.scheme}, ${kind}`, ok: isContained(each) },
          ...[struck, corrected, uncorrectable, runs, different, left].map((number) => ({
            text: number.toLocaleString("en"),
          })),
        ];
      }),
    ),
  );
  return tableSection(
    {
      title: "Bits flipped at rest",
      lead: "Code words struck by one bit flip, or two. Half of what can be corrected was struck before the program ran; a pass over all memory found the rest. What a kernel loads twice it finds twice.",
    },
    columnsOf(["Program", "Code"], ["Struck", "Corrected", "Flagged", "Runs", "Other results", "Left"]),
    rows,
  );
}

function faultFreeSection({ programs }: EccRun): Section[] {
  const rows = programs.flatMap(({ name, faultFree }) =>
    faultFree.map(({ scheme, runs, reports, different }): TableCell[] => [
      { text: name },
      { text: scheme },
      { text: String(runs) },
      { text: String(reports), ok: reports === 0 },
      { text: String(different), ok: different === 0 },
    ]),
  );
  return tableSection(
    { title: "Runs without an error" },
    columnsOf(["Program", "Code"], ["Runs", "False reports", "Other results"]),
    rows,
  );
}

/** Returns the wrong results, and the steps that could not be measured. */
function problemsSection({ programs }: EccRun): Section[] {
  const rows = programs.flatMap(({ name, verdict, overheads, failures }) => {
    const wrong = verdict.ok ? [] : [verdict.message];
    const found = overheads.flatMap(({ scheme, identical, errors }) => [
      ...(identical ? [] : [`${scheme}: other bits than unprotected`]),
      ...(errors === 0 ? [] : [`${scheme}: ${errors} false reports`]),
    ]);
    return [...wrong, ...failures, ...found].map((text): TableCell[] => [
      { text: name },
      { text, ok: false },
    ]);
  });
  return tableSection({ title: "Problems" }, columnsOf(["Program", "What"], []), rows);
}

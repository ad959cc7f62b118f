import type { Automatic } from "../bench/automatic.ts";
import { flavors, nameOf } from "../bench/configurations.ts";
import type { Cost, Overhead, Refused } from "../bench/overhead.ts";
import { isSound } from "../bench/rmt.ts";
import type { ProgramResult } from "../bench/rmtProgram.ts";
import type { Cell, Report, Section, TableSection } from "../report/report.ts";
import type { RmtRun } from "./benchRmt.ts";
import { figures, measured, usual } from "./benchRmtFigures.ts";
import { caveatOf, ceilingFacts, machineFacts } from "./machine.ts";
import { milliseconds, ratio } from "./quantities.ts";
import { columnsOf, tableSection } from "./sections.ts";

/** Puts the measurements into a report's terms. */
export function describeRmt(run: RmtRun): Report {
  const { programs, adapter, size, runs } = run;
  const bad = programs.filter((program) => !isSound(program));
  return {
    title: "belay bench rmt",
    verdict: {
      ok: run.ok,
      headline: run.ok
        ? `${programs.length} programs measured, every result right, no false alarm`
        : `${bad.length} of ${programs.length} programs failed`,
      detail: `Size ${size}, ${runs} runs each, on ${adapter.description}.${caveatOf(adapter)}`,
    },
    sections: [
      { ...summaryTable(run), lead: "Medians of GPU time; ratios of protected to unprotected, run in turn." },
      ...figures(run),
      ...automaticSection(run),
      ...faultFreeSection(run),
      ...everyRatioSection(run),
      ...problemsSection(run),
      {
        kind: "facts",
        title: "Machine",
        facts: [
          ...machineFacts(run),
          ...(run.ceilings ? ceilingFacts(run.ceilings) : []),
          ...(run.measure.includes("power") ? [powerFact(run)] : []),
        ],
      },
      {
        kind: "commands",
        title: "Reproduce",
        commands: [
          `belay bench rmt --size ${size} --runs ${runs} --measure ${run.measure.join(",")} --flavors ${run.flavors.join(",")}`,
        ],
      },
    ],
  };
}

/** One row for each program: what it takes unprotected, and the ratios of each flavor. */
export function summaryTable({ programs }: RmtRun): TableSection {
  const pairs = flavors.flatMap((flavor) =>
    (["store", "signature"] as const).map((check) => [flavor, check] as const),
  );
  return {
    kind: "table",
    title: "Programs",
    columns: columnsOf(
      ["Program", "Result"],
      ["Unprotected", ...pairs.map(([flavor, check]) => `${flavor} ${check}`), "Limit"],
    ),
    rows: programs.map((program) => [
      { text: program.name },
      { text: isSound(program) ? "right" : program.verdict.ok ? "FAILED" : "WRONG", ok: isSound(program) },
      { text: milliseconds(measured(program)[0]?.unprotected.median) },
      ...pairs.map(([flavor, check]) => ({ text: ratio(usual(program, flavor, check)?.ratio) })),
      { text: ratio(program.roofline?.limit) },
    ]),
  };
}

/** What `auto` chose, beside the best of all that was measured. */
function automaticSection({ programs }: RmtRun): Section[] {
  const known = programs.flatMap(({ automatic, ...program }) =>
    automatic ? [{ ...program, automatic }] : [],
  );
  const text = (cost: Cost | Refused) => ("refused" in cost ? "refused" : ratio(cost.ratio));
  return tableSection(
    {
      title: 'Redundancy "auto"',
      lead: "Chosen from the kernel's text, and by measurement, with the best configuration that was measured beside them.",
    },
    columnsOf(["Program"], ["From the text", "By measurement", "Best"], ["Chosen by measurement"]),
    known.map((program) => [
      { text: program.name },
      { text: text(program.automatic.predicted) },
      { text: text(program.automatic.tuned) },
      { text: ratio(best(program)?.ratio) },
      { text: chosenIn(program.automatic.tuned) },
    ]),
  );
}

const chosenIn = (automatic: Automatic["tuned"]) =>
  "choices" in automatic
    ? [...new Set(automatic.choices.map(({ configuration }) => configuration))].join(", ")
    : "";

/** The configuration with the least overhead. */
function best(program: Pick<ProgramResult, "overheads">): Overhead | undefined {
  return measured(program).reduce<Overhead | undefined>(
    (least, each) => (least && least.ratio <= each.ratio ? least : each),
    undefined,
  );
}

function faultFreeSection({ programs }: RmtRun): Section[] {
  const rows = programs.flatMap(({ name, faultFree }): Cell[][] => {
    if (faultFree.length === 0) return [];
    const sum = (count: (each: (typeof faultFree)[number]) => number) =>
      faultFree.reduce((total, each) => total + count(each), 0);
    const detections = sum((each) => each.detections);
    const unverified = sum((each) => each.unverified);
    const different = sum((each) => each.different);
    return [
      [
        { text: name },
        { text: String(faultFree.length) },
        { text: String(sum((each) => each.runs)) },
        { text: String(detections), ok: detections === 0 },
        { text: String(unverified), ok: unverified === 0 },
        { text: String(different), ok: different === 0 },
      ],
    ];
  });
  return tableSection(
    { title: "Runs without a fault" },
    columnsOf(["Program"], ["Configurations", "Runs", "False alarms", "Waits that ran out", "Other results"]),
    rows,
  );
}

function everyRatioSection({ programs }: RmtRun): Section[] {
  const rows = programs.flatMap((program) =>
    measured(program).map((each): Cell[] => [
      { text: program.name },
      { text: nameOf(each) },
      { text: milliseconds(each.unprotected.median) },
      { text: milliseconds(each.protected.median) },
      { text: `${milliseconds(each.protected.lower)} to ${milliseconds(each.protected.upper)}` },
      { text: ratio(each.ratio) },
    ]),
  );
  return tableSection(
    { title: "Every configuration" },
    columnsOf(["Program", "Configuration"], ["Unprotected", "Protected", "Quartiles", "Ratio"]),
    rows,
  );
}

/** What was wrong, could not be measured, or stayed unprotected. */
function problemsSection({ programs }: RmtRun): Section[] {
  const rows = programs.flatMap(({ name, verdict, overheads, faultFree, failures }) => {
    const wrong = verdict.ok ? [] : [verdict.message];
    const bad = [...wrong, ...failures].map((text): Cell => ({ text, ok: false }));
    const found = [...overheads, ...faultFree].flatMap((each) => problemOf(each) ?? []);
    return [...bad, ...found].map((cell): Cell[] => [{ text: name }, cell]);
  });
  return tableSection(
    { title: "Problems, and kernels left unprotected" },
    columnsOf(["Program", "What"], []),
    rows,
  );
}

function problemOf(
  each: ProgramResult["overheads"][number] | ProgramResult["faultFree"][number],
): Cell | undefined {
  if ("refused" in each) return { text: `${nameOf(each)}: ${each.refused}` };
  if (each.detections > 0) return { text: `${nameOf(each)}: ${each.detections} false alarms`, ok: false };
  if (each.unverified > 0)
    return { text: `${nameOf(each)}: ${each.unverified} waits for a twin that ran out`, ok: false };
  const differs = "identical" in each ? !each.identical : each.different > 0;
  return differs ? { text: `${nameOf(each)}: other bits than unprotected`, ok: false } : undefined;
}

const powerFact = ({ powerSource }: RmtRun) =>
  ["Power", powerSource ?? "no readings: nvidia-smi is missing, or knows no power"] as const;

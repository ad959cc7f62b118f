/**
 * The measurements of redundant multithreading that are no figure of the paper, as tables of a
 * report.
 */
import type { Section, TableCell, TableSection } from "belay-cli/internal/report/report";
import { columnsOf, tableSection } from "belay-cli/internal/report/sections";
import { type Configuration, describeConfiguration, flavors } from "../../bench/measuring/configurations.ts";
import type { Automatic } from "../../bench/rmt/automatic.ts";
import type { FaultFree } from "../../bench/rmt/faultFree.ts";
import type { ProgramResult } from "../../bench/rmt/program.ts";
import { isSound, withoutMissing } from "../../bench/rmt/rmt.ts";
import type { RmtRun } from "../results/results.ts";
import { milliseconds, rate, ratio, share } from "../results/results.ts";
import type { Problem } from "../results/run.ts";
import { bestCovering, bestIn, meanOf, measured, usual } from "./best.ts";

/**
 * The wrong measurements of redundant multithreading, the missing ones, and the unprotected
 * kernels.
 */

/** The step without which a program has no result. */
export const notBegun = "unprotected";

export function problemsTable(run: RmtRun): Section[] {
  return tableSection(
    { title: "Problems, and kernels left unprotected" },
    columnsOf(["Program", "What"], []),
    problemRows(run),
  );
}

/**
 * Returns the wrong and the missing measurements, without the kernels that only stayed unprotected.
 */
export const problemsOf = (run: RmtRun): Problem[] =>
  problemRows(run).flatMap(([program, { text, ok }]) =>
    ok === false || ok === null ? [{ text: `${program.text}: ${text}`, ok }] : [],
  );

function problemRows({ programs }: RmtRun): [program: TableCell, what: TableCell][] {
  return programs.flatMap(({ name, verdict, overheads, faultFree, failures, left }) => {
    const wrong = verdict.ok || left.includes(notBegun) ? [] : [verdict.message];
    const undone = left.map((step): TableCell => ({ text: `not measured: ${step}`, ok: null }));
    const bad = [...wrong, ...failures].map((text): TableCell => ({ text, ok: false }));
    const found = [...overheads, ...faultFree].flatMap((each) => problemOf(each) ?? []);
    return [...bad, ...undone, ...found].map((cell): [TableCell, TableCell] => [{ text: name }, cell]);
  });
}

function problemOf(each: ProgramResult["overheads"][number] | FaultFree): TableCell | undefined {
  if ("refused" in each) return { text: `${describeConfiguration(each)}: ${each.refused}` };
  if (each.detections > 0)
    return { text: `${describeConfiguration(each)}: ${each.detections} false alarms`, ok: false };
  const differs = "identical" in each ? !each.identical : each.different > 0;
  if (differs) return { text: `${describeConfiguration(each)}: other bits than unprotected`, ok: false };
  if (each.unverified > 0)
    return {
      text: `${describeConfiguration(each)}: ${each.unverified} waits for a twin that ran out`,
      ok: null,
    };
  return undefined;
}

/**
 * Returns a table with one row for each program: its unprotected time, and the least cost of each
 * flavor.
 */
export function summaryTable({ programs, ceilings }: RmtRun): TableSection {
  const intra = (program: ProgramResult) => bestIn(program, "intra+lds");
  const inter = (program: ProgramResult) => usual(program, "inter", "signature");
  const mean = (of: (program: ProgramResult) => number | undefined) => ({
    text: ratio(meanOf(programs, of)),
  });
  const means: TableCell[] = [
    { text: "geometric mean" },
    ...["", "", ""].map((text) => ({ text })),
    mean((program) => intra(program)?.ratio),
    { text: "" },
    mean((program) => bestIn(program, "intra-lds")?.ratio),
    mean((program) => inter(program)?.ratio),
    mean(({ roofline }) => roofline?.limit),
    { text: "" },
  ];
  const rows = programs.map((program): TableCell[] => {
    const { name, roofline } = program;
    const least = intra(program);
    return [
      { text: name },
      resultOf(program),
      { text: milliseconds(roofline?.time ?? measured(program)[0]?.unprotected.median) },
      { text: roofline && ceilings ? speedOf(roofline, ceilings) : "" },
      { text: ratio(least?.ratio) },
      { text: least ? placeOf(least) : "" },
      { text: ratio(bestIn(program, "intra-lds")?.ratio) },
      { text: ratio(inter(program)?.ratio) },
      { text: ratio(roofline?.limit) },
      { text: roofline && least ? signedPercent(least.ratio / roofline.limit - 1) : "" },
    ];
  });
  return {
    kind: "table",
    title: "Programs",
    columns: [
      ...columnsOf(["Program", "Result"], ["Unprotected", "of the ceiling", "Intra-Group+LDS"]),
      ...columnsOf(["Configured"], ["Intra-Group-LDS", "Inter-Group", "Limit", "Over the limit"]),
    ],
    rows: programs.length > 1 ? [...rows, means] : rows,
  };
}

function resultOf(program: ProgramResult): TableCell {
  if (isSound(program)) return { text: "right", ok: true };
  if (program.left.includes(notBegun)) return { text: "not measured", ok: null };
  if (isSound({ ...program, left: [] })) return { text: "right, but incomplete", ok: null };
  if (isSound(withoutMissing(program))) return { text: "right, but unverified", ok: null };
  return { text: program.verdict.ok ? "FAILED" : "WRONG", ok: false };
}

/** Returns a program's rate, and its share of the ceiling that bounds it more. */
function speedOf(
  { bytesPerSecond, flopsPerSecond }: NonNullable<ProgramResult["roofline"]>,
  ceilings: NonNullable<RmtRun["ceilings"]>,
): string {
  const [memory, arithmetic] = [bytesPerSecond / ceilings.memory, flopsPerSecond / ceilings.flops];
  return arithmetic > memory
    ? `${rate(flopsPerSecond, "FLOP/s")}, ${share(flopsPerSecond, ceilings.flops)}`
    : `${rate(bytesPerSecond, "B/s")}, ${share(bytesPerSecond, ceilings.memory)}`;
}

/** Returns the places of replicas, and their comparison if that is not by signature. */
const placeOf = ({ pairing, check }: Pick<Configuration, "pairing" | "check">) =>
  check === "signature" ? pairing : `${pairing}, ${check}`;

const signedPercent = (value: number) => `${value < 0 ? "" : "+"}${(100 * value).toFixed(0)} %`;

/** The factor within which a choice counts as near the best. */
const near = 1.05;

/** Returns a table of the choices of `auto`, beside the best of all measured configurations. */
export function automaticTable({ programs }: RmtRun): TableSection[] {
  const known = programs.flatMap((program) => {
    const { automatic, name } = program;
    const least = bestCovering(program);
    return automatic && least ? [{ name, automatic, least }] : [];
  });
  const isNear = (chosen: Automatic["tuned"], least: number) =>
    "ratio" in chosen && chosen.ratio <= near * least;
  const nearBy = (how: keyof Automatic) =>
    known.filter(({ automatic, least }) => isNear(automatic[how], least.ratio)).length;
  const cell = (chosen: Automatic["tuned"], least: number): TableCell =>
    "refused" in chosen ? { text: chosen.refused } : { text: ratio(chosen.ratio), ok: isNear(chosen, least) };
  return tableSection(
    {
      title: 'Redundancy "auto"',
      lead: `Within 5 % of the best configuration that covers arithmetic, registers and workgroup memory: ${nearBy("predicted")} of ${known.length} programs where the kernel's text decides, ${nearBy("tuned")} where a short measurement does (three runs of each configuration). Where both choose alike, one was timed.`,
    },
    [
      ...columnsOf(["Program"], ["From the text", "By measurement", "Best"]),
      ...columnsOf(["Configured", "Chosen from the text", "Reason", "By measurement"], []),
    ],
    known.map(({ name, automatic: { predicted, tuned }, least }) => [
      { text: name },
      cell(predicted, least.ratio),
      cell(tuned, least.ratio),
      { text: ratio(least.ratio) },
      { text: describeConfiguration(least) },
      { text: choicesIn(predicted, ({ configuration }) => configuration) },
      { text: choicesIn(predicted, ({ reason }) => reason) },
      { text: choicesIn(tuned, ({ configuration }) => configuration) },
    ]),
  );
}

type Choice = Extract<Automatic["tuned"], { readonly choices: unknown }>["choices"][number];

/**
 * Returns a property of the choices for a program's kernels: once if they agree, else for each
 * kernel.
 */
function choicesIn(chosen: Automatic["tuned"], what: (choice: Choice) => string | undefined): string {
  if (!("choices" in chosen)) return "";
  const all = new Set(chosen.choices.map(what));
  if (all.size === 1) return [...all][0] ?? "";
  return chosen.choices.map((choice) => `${choice.kernel}: ${what(choice) ?? ""}`).join("; ");
}

export function faultFreeTable({ programs }: RmtRun): TableSection[] {
  const known = programs.filter(({ faultFree }) => faultFree.length > 0);
  const all = known.flatMap(({ faultFree }) => faultFree);
  const sum = (list: readonly FaultFree[], of: (each: FaultFree) => number) =>
    list.reduce((total, each) => total + of(each), 0);
  const isQuiet = (list: readonly FaultFree[]) =>
    sum(list, (each) => each.detections + each.unverified + each.different) === 0;
  const count = (of: (each: FaultFree) => number) => sum(all, of).toLocaleString("en");
  const shown = flavors.filter((flavor) => all.some(({ redundancy }) => redundancy === flavor));
  return tableSection(
    {
      title: "Runs without a fault",
      lead: `${count(({ runs }) => runs)} runs: ${count((each) => each.detections)} false alarms, ${count((each) => each.unverified)} waits for a twin that ran out, ${count((each) => each.different)} outputs that are not, bit for bit, the unprotected program's. Runs of a flavor are those of all its configurations together.`,
    },
    columnsOf(
      ["Program"],
      shown.flatMap((flavor) => [flavor, "configurations"]),
    ),
    known.map(({ name, faultFree }) => [
      { text: name },
      ...shown.flatMap((flavor): TableCell[] => {
        const of = faultFree.filter(({ redundancy }) => redundancy === flavor);
        const runs = sum(of, (each) => each.runs).toLocaleString("en");
        return [{ text: runs, ok: isQuiet(of) }, { text: String(of.length) }];
      }),
    ]),
  );
}

export function configurationsTable({ programs }: RmtRun): TableSection[] {
  const rows = programs.flatMap((program) =>
    measured(program).map((each): TableCell[] => [
      { text: program.name },
      { text: describeConfiguration(each) },
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

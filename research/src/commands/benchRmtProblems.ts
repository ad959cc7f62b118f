/**
 * What was wrong with measurements of redundant multithreading, could not be measured, or stayed
 * unprotected.
 */

import type { Cell, Section } from "belay-cli/internal/report/report";
import { columnsOf, tableSection } from "belay-cli/internal/report/sections";
import { nameOf } from "../bench/configurations.ts";
import type { FaultFree } from "../bench/faultFree.ts";
import type { ProgramResult } from "../bench/rmtProgram.ts";
import type { RmtRun } from "./benchResults.ts";
import type { Problem } from "./benchRun.ts";

/** The step without which a program has no result. */
export const notBegun = "unprotected";

export function problemsTable(run: RmtRun): Section[] {
  return tableSection(
    { title: "Problems, and kernels left unprotected" },
    columnsOf(["Program", "What"], []),
    problemRows(run),
  );
}

/** What is wrong or missing, without what is only left unprotected. */
export const problemsOf = (run: RmtRun): Problem[] =>
  problemRows(run).flatMap(([program, { text, ok }]) =>
    ok === false || ok === null ? [{ text: `${program.text}: ${text}`, ok }] : [],
  );

function problemRows({ programs }: RmtRun): [program: Cell, what: Cell][] {
  return programs.flatMap(({ name, verdict, overheads, faultFree, failures, left }) => {
    const wrong = verdict.ok || left.includes(notBegun) ? [] : [verdict.message];
    const undone = left.map((step): Cell => ({ text: `not measured: ${step}`, ok: null }));
    const bad = [...wrong, ...failures].map((text): Cell => ({ text, ok: false }));
    const found = [...overheads, ...faultFree].flatMap((each) => problemOf(each) ?? []);
    return [...bad, ...undone, ...found].map((cell): [Cell, Cell] => [{ text: name }, cell]);
  });
}

function problemOf(each: ProgramResult["overheads"][number] | FaultFree): Cell | undefined {
  if ("refused" in each) return { text: `${nameOf(each)}: ${each.refused}` };
  if (each.detections > 0) return { text: `${nameOf(each)}: ${each.detections} false alarms`, ok: false };
  const differs = "identical" in each ? !each.identical : each.different > 0;
  if (differs) return { text: `${nameOf(each)}: other bits than unprotected`, ok: false };
  if (each.unverified > 0)
    return { text: `${nameOf(each)}: ${each.unverified} waits for a twin that ran out`, ok: null };
  return undefined;
}

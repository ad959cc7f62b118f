import type { ReportDocument } from "belay-cli/internal/report/report";
import { caveatOf, machineFacts } from "belay-cli/internal/shared/machine";
import { plural } from "belay-gpu/internal/diagnostics/plural";
import type { ProgramResult } from "../../bench/rmt/program.ts";
import { isSound, withoutMissing } from "../../bench/rmt/rmt.ts";
import { ceilingFacts, judge, type RmtRun } from "../results/results.ts";
import { figures } from "./figures.ts";
import {
  automaticTable,
  configurationsTable,
  faultFreeTable,
  problemsTable,
  summaryTable,
} from "./tables.ts";

/** Returns the measurements as a report, in the order of the paper's figures. */
export function describeRmt(run: RmtRun): ReportDocument {
  const { programs, adapter, size, runs } = run;
  return {
    title: "belay bench rmt",
    verdict: {
      ...judge({
        count: programs.length,
        kind: "program",
        wrong: programs.filter((program) => !isSound(withoutMissing(program))).map(({ name }) => name),
        incomplete: programs.filter(isIncomplete).map(({ name }) => name),
        right: "every result right, no false alarm",
        next: "belay tune measures which protection costs a program of your own least.",
      }),
      detail: `Size ${size}, medians of ${plural(runs, "run")}, on ${adapter.description}.${caveatOf(adapter)}`,
    },
    sections: [
      {
        ...summaryTable(run),
        lead: "GPU time; ratios of protected to unprotected, run alternately. Each flavor in the configuration that costs this program least; Inter-Group compares by signature. The means are of the paper's programs. Of the ceiling: the measured rate of a copy, or of fused multiply-adds, whichever the program is closer to. The limit of full replication is the longer of twice the time that the program takes without memory, and the time of its memory traffic.",
      },
      ...problemsTable(run),
      ...figures(run),
      ...automaticTable(run),
      ...faultFreeTable(run),
      ...configurationsTable(run),
      {
        kind: "facts",
        title: "Machine",
        facts: [
          [
            "Paper",
            "Wadden et al., Real-world design and evaluation of compiler-managed GPU redundant multithreading, ISCA 2014",
          ],
          ...machineFacts(run),
          ...(run.ceilings ? ceilingFacts(run.ceilings) : []),
          ...(run.measure.includes("power") ? [powerFact(run)] : []),
        ],
      },
      { kind: "commands", title: "Reproduce", commands: run.commands },
    ],
  };
}

const isIncomplete = (program: ProgramResult) => !isSound(program) && isSound(withoutMissing(program));

const powerFact = ({ powerSource }: RmtRun) =>
  ["Power", powerSource ?? "no readings: nvidia-smi is missing, or knows no power"] as const;

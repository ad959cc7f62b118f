import { join, resolve } from "node:path";
import { describeFault } from "belay-gpu/internal/runtime/context/detectedFault";
import { openGpu } from "belay-node/internal/adapter";
import { Command, Option } from "commander";
import { renderPage } from "../../report/page.ts";
import type { ReportDocument, TableSection } from "../../report/report.ts";
import { prepareDirectory, writeAtomically } from "../../shared/files/output.ts";
import { measuredOn } from "../../shared/machine.ts";
import { addPolicyOptions, type PolicyFlags, path, policyOf } from "../../shared/options.ts";
import { importResearch } from "../../shared/research.ts";
import { exitStatus } from "../../shared/terminal/failure.ts";
import { colorsFor, type Io, jsonOf, tell } from "../../shared/terminal/io.ts";
import { withProgress } from "../../shared/terminal/progress.ts";
import { renderReport } from "../../shared/terminal/table.ts";
import {
  type Demonstration,
  type DemoResult,
  demonstrate,
  type ProgramSize,
  succeeded,
} from "./demonstrate.ts";
import { describeDemo } from "./demoReport.ts";

interface Flags extends PolicyFlags {
  readonly size: ProgramSize;
  readonly out: string;
  readonly json: boolean;
}

/**
 * Makes the command `belay demo`, which runs the catalog unprotected, protected, and with injected
 * faults.
 */
export function demoCommand(io: Io, finish: (status: number) => void): Command {
  const command = new Command("demo").description(
    "Runs each program unprotected, protected, and protected with one injected fault, and writes a report. The programs are in a clone of Belay's repository only. The exit status is 1 when results differ or a fault is not caught.",
  );
  // A comparison before every store shows both values that the program would have seen.
  return addPolicyOptions(command, { redundancy: "intra+lds", check: "store" })
    .addOption(
      new Option("--size <size>", "small runs anywhere, full keeps a GPU busy")
        .choices(["small", "full"])
        .default("small"),
    )
    .option("--out <directory>", "where the report and the result go", path, "belay-report")
    .option("--json", "print the result as JSON", false)
    .action(async (flags: Flags) => {
      await prepareDirectory(flags.out);
      const result = await runDemo(policyOf(flags), flags.size, io);
      const report = describeDemo(result);
      const page = join(flags.out, "report.html");
      const json = `${jsonOf(result)}\n`;
      await writeAtomically(page, renderPage(report));
      await writeAtomically(join(flags.out, "result.json"), json);

      if (flags.json) io.stdout.write(json);
      else tell(io.stdout, `${renderText(report, result, io)}\nReport: ${resolve(page)}\n`);
      finish(result.ok ? exitStatus.ok : exitStatus.failed);
    });
}

async function runDemo(policy: PolicyFlags, size: ProgramSize, io: Io): Promise<DemoResult> {
  return withProgress(io, "opening the GPU", async ({ doing }) => {
    const { catalog } = await importResearch();
    using opened = await openGpu();
    const programs: Demonstration[] = [];
    for (const [index, entry] of catalog.entries()) {
      doing(`${entry.name}, program ${index + 1} of ${catalog.length}`);
      programs.push(await demonstrate(entry, size, opened, policy));
    }
    return { ok: programs.every(succeeded), ...measuredOn(opened.choice), policy, size, programs };
  });
}

function renderText({ verdict, sections }: ReportDocument, { programs }: DemoResult, io: Io): string {
  const color = colorsFor(io.stdout);
  const table = sections.find((section): section is TableSection => section.kind === "table")!;
  const faults = programs.flatMap(({ name, injection }) =>
    injection.fault ? [`  ${color.bold(name)}: ${describeFault(injection.fault)}`] : [],
  );
  const problems = programs.flatMap(({ name, results }) =>
    results.outcome === "wrong" ? [`  ${color.bold(name)}: ${color.red(results.message)}`] : [],
  );
  return [
    renderReport(verdict, table, io),
    ...(faults.length > 0 ? ["Caught faults", ...faults] : []),
    ...(problems.length > 0 ? ["Wrong results", ...problems] : []),
    "",
  ].join("\n");
}

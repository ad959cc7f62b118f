import { join, resolve } from "node:path";
import Table from "cli-table3";
import { Command, Option } from "commander";
import ora from "ora";
import { benchmarkSizes } from "../../workloads/benchmarkSizes.ts";
import { catalog } from "../../workloads/index.ts";
import { type Flavor, flavors } from "../bench/configurations.ts";
import { idleReplicaFlags } from "../bench/idleReplicas.ts";
import { type Measurement, measurements, measureRmt, type RmtResult } from "../bench/rmt.ts";
import { renderPage } from "../report/page.ts";
import { type AdapterChoice, openGpu } from "../runtime/adapter.ts";
import { count, namesFrom } from "./benchOptions.ts";
import { describeRmt, summaryTable } from "./benchRmtReport.ts";
import { exitStatus } from "./failure.ts";
import { colorsFor, type Io, isTerminal } from "./io.ts";
import { measuredOn } from "./machine.ts";
import { newDevice } from "./newDevice.ts";
import { writeAtomically } from "./output.ts";

/** What `belay bench rmt --json` prints. */
export interface RmtRun extends RmtResult {
  readonly date: string;
  readonly node: string;
  readonly platform: string;
  readonly adapter: AdapterChoice;
  readonly size: "small" | "full";
  readonly runs: number;
  readonly measure: readonly Measurement[];
  readonly flavors: readonly Flavor[];
}

interface Flags {
  readonly size: "small" | "full";
  readonly runs: number;
  readonly only?: readonly string[];
  readonly measure: readonly Measurement[];
  readonly flavors: readonly Flavor[];
  readonly faultFree: number;
  readonly out: string;
  readonly json?: string | true;
}

/** `belay bench rmt`: what redundant multithreading costs, and why. */
export function benchRmtCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("rmt")
    .summary("what redundant multithreading costs, and why")
    .description(
      "Measures each program unprotected and in every flavor of redundancy: overhead, what it is made of, how far\nmemory bounds it, and power. The exit status is 1 when a result is wrong or a fault is reported.",
    )
    .addOption(
      new Option("--size <size>", "small runs anywhere, full keeps a large GPU busy")
        .choices(["small", "full"])
        .default("small"),
    )
    .option(
      "--runs <count>",
      "runs of each configuration, in alternation with the unprotected program",
      count,
      20,
    )
    .option("--only <programs>", "names of programs, with commas between", programsFrom)
    .option("--measure <what>", `some of ${measurements.join(", ")}`, measurementsFrom, [...measurements])
    .option("--flavors <flavors>", `some of ${flavors.join(", ")}`, flavorsFrom, [...flavors])
    .option("--fault-free <count>", "further runs of each configuration, in search of false alarms", count, 0)
    .option("--out <directory>", "where the report and the result go", "belay-report")
    .option("--json [file]", "print the result as JSON, or write it there")
    .action(async (flags: Flags) => {
      const run = await runRmt(flags, io);
      const page = join(flags.out, "rmt.html");
      await writeAtomically(page, renderPage(describeRmt(run)));
      if (typeof flags.json === "string") await writeAtomically(flags.json, toJson(run));
      io.stdout.write(
        flags.json === true ? toJson(run) : `${renderText(run, io)}\nReport: ${resolve(page)}\n`,
      );
      finish(run.ok ? exitStatus.ok : exitStatus.failed);
    });
}

const toJson = (run: RmtRun) => `${JSON.stringify(run, null, 2)}\n`;

/** Measures what the flags say; the result so far is always in the output directory. */
async function runRmt(flags: Flags, io: Io): Promise<RmtRun> {
  const { size, runs, only, measure, flavors, faultFree, out } = flags;
  using opened = await openGpu({ dawnFlags: idleReplicaFlags });
  const progress = ora({
    stream: io.stderr as NodeJS.WriteStream,
    isSilent: !isTerminal(io.stderr),
    discardStdin: false,
  });
  const describeRun = (result: RmtResult): RmtRun => ({
    ...result,
    ...measuredOn(opened.choice),
    size,
    runs,
    measure,
    flavors,
  });
  const chosen = catalog.filter(({ name }) => only?.includes(name) ?? true);
  const programs = chosen.map(({ name, small }) => ({
    name,
    create: size === "full" ? benchmarkSizes[name]! : small,
  }));
  try {
    progress.start();
    const result = await measureRmt({
      newDevice: () => newDevice(opened),
      size,
      programs,
      measure,
      flavors,
      runs,
      faultFree,
      powerTime: size === "full" ? 1000 : 200,
      progress: (doing) => {
        progress.text = doing;
      },
      save: (sofar) => writeAtomically(join(out, "rmt.json"), toJson(describeRun(sofar))),
    });
    return describeRun(result);
  } finally {
    progress.stop();
  }
}

function renderText(run: RmtRun, io: Io): string {
  const color = colorsFor(io.stdout);
  const { verdict } = describeRmt(run);
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

const programsFrom = (text: string) =>
  namesFrom(
    text,
    catalog.map(({ name }) => name),
  );
const flavorsFrom = (text: string) => namesFrom(text, flavors);
const measurementsFrom = (text: string) => namesFrom(text, measurements);

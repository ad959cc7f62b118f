import { join } from "node:path";
import { measuredOn } from "belay-cli/internal/shared/machine";
import { count, namesFrom, path, whole } from "belay-cli/internal/shared/options";
import type { Io } from "belay-cli/internal/shared/terminal/io";
import { type ProgressDisplay, withProgress } from "belay-cli/internal/shared/terminal/progress";
import { openTimedGpu } from "belay-cli/internal/shared/workloads/openTimedGpu";
import { newDevice } from "belay-node/internal/newDevice";
import { Command, Option } from "commander";
import { describeConfiguration, type Flavor, flavors } from "../../bench/measuring/configurations.ts";
import { idleReplicaFlags } from "../../bench/rmt/components.ts";
import { type Measurement, measurements, type ProgramResult } from "../../bench/rmt/program.ts";
import { measureRmt, type RmtResult } from "../../bench/rmt/rmt.ts";
import { catalog } from "../../workloads/samples/index.ts";
import type { RmtRun } from "../results/results.ts";
import { addOutputOptions, type OutputFlags, publishRun, saveRun } from "../results/run.ts";
import { earlierRun, mergedRun } from "./earlier.ts";
import { describeRmt } from "./report.ts";
import { problemsOf, summaryTable } from "./tables.ts";

interface Flags extends OutputFlags {
  readonly size: "small" | "full";
  readonly runs: number;
  readonly only?: readonly string[];
  readonly measure: readonly Measurement[];
  readonly flavors: readonly Flavor[];
  readonly faultFree: number;
  readonly timeLimit?: number;
  readonly resume: boolean;
  readonly merge?: readonly string[];
}

const name = "rmt";

/**
 * Returns the command `belay bench rmt`, which measures the cost of redundant multithreading and
 * its causes.
 */
export function benchRmtCommand(io: Io, finish: (status: number) => void): Command {
  const command = new Command("rmt")
    .summary("what redundant multithreading costs, and why")
    .description(
      "Measures each program unprotected and in every flavor of redundancy: overhead, what it is made of, how far memory bounds it, and power. The exit status is 1 when a result is wrong or a fault is reported.",
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
    .option("--measure <what>", `some of ${measurements.join(", ")}, or none`, measurementsFrom, [
      ...measurements,
    ])
    .option("--flavors <flavors>", `some of ${flavors.join(", ")}`, flavorsFrom, [...flavors])
    .option("--fault-free <count>", "further runs of each configuration, in search of false alarms", whole, 0)
    .option("--time-limit <seconds>", "begin no further step after this time; --resume goes on", count)
    .option("--resume", "keep what the result in the output directory has, and measure the rest", false)
    .option("--merge <files>", "measure nothing, and put these results together; commas between", (text) =>
      text.split(",").map(path),
    )
    .action(async (flags: Flags) => {
      const run = flags.merge
        ? await mergedRun(flags.merge)
        : await withProgress(io, "opening the GPU", (progress) => runRmt(flags, progress));
      finish(
        await publishRun(
          { name, describe: describeRmt, summary: summaryTable, problems: problemsOf },
          run,
          flags,
          io,
        ),
      );
    });
  return addOutputOptions(command);
}

/** Measures according to the flags. The output directory always holds the result so far. */
async function runRmt(flags: Flags, { doing, tell }: ProgressDisplay): Promise<RmtRun> {
  const { size, runs, only, measure, flavors, faultFree, timeLimit } = flags;
  const earlier = flags.resume ? await earlierRun(join(flags.out, `${name}.json`), flags) : undefined;
  using opened = await openTimedGpu({ dawnFlags: idleReplicaFlags });
  const about = (result: RmtResult): RmtRun => ({
    ...result,
    ...measuredOn(opened.choice),
    size,
    runs,
    measure,
    flavors,
    commands: [...new Set([...(earlier?.commands ?? []), commandFor(flags)])],
  });
  const chosen = catalog.filter(({ name }) => only?.includes(name) ?? true);
  const programs = chosen.map(({ name, small, benchmark }) => ({
    name,
    create: size === "full" ? benchmark : small,
  }));
  return about(
    await measureRmt({
      newDevice: () => newDevice(opened),
      size,
      programs,
      measure,
      flavors,
      runs,
      faultFree,
      ...(earlier && { earlier }),
      ...(timeLimit !== undefined && { timeLimitMs: 1000 * timeLimit }),
      powerTimeMs: size === "full" ? 600 : 200,
      progress: doing,
      save: async (sofar, last) => {
        tell(lineFor(last));
        await saveRun(name, about(sofar), flags);
      },
    }),
  );
}

/** Returns the command line that makes the same measurements. */
function commandFor({ size, runs, only, measure, flavors, faultFree }: Flags): string {
  const words = [
    `belay bench rmt --size ${size} --runs ${runs} --measure ${measure.join(",") || "none"} --flavors ${flavors.join(",")}`,
    ...(only ? [`--only ${only.join(",")}`] : []),
    ...(faultFree > 0 ? [`--fault-free ${faultFree}`] : []),
  ];
  return words.join(" ");
}

/** Returns a program's results in one line, for readers of a pipe. */
function lineFor({ name, overheads, components, power, faultFree, failures, left }: ProgramResult): string {
  const ratios = overheads.flatMap((each) =>
    "ratio" in each ? [`${describeConfiguration(each)} ${each.ratio.toFixed(2)}`] : [],
  );
  const parts = [
    [components.length, "taken apart"],
    [power.length, "powers"],
    [faultFree.reduce((sum, { runs }) => sum + runs, 0), "runs without a fault"],
    [left.length, "steps left"],
  ] as const;
  const counts = parts.flatMap(([count, what]) => (count > 0 ? [`${count} ${what}`] : []));
  return [name, ...ratios, ...counts, ...failures].join(", ");
}

const programsFrom = (text: string) =>
  namesFrom(
    text,
    catalog.map(({ name }) => name),
  );
const flavorsFrom = (text: string) => namesFrom(text, flavors);
const measurementsFrom = (text: string) => (text === "none" ? [] : namesFrom(text, measurements));

import { Command, Option } from "commander";
import { benchmarkSizes } from "../../workloads/benchmarkSizes.ts";
import { catalog } from "../../workloads/index.ts";
import { type Flavor, flavors, nameOf } from "../bench/configurations.ts";
import { idleReplicaFlags } from "../bench/idleReplicas.ts";
import {
  type Measurement,
  measurements,
  measureRmt,
  type ProgramResult,
  type RmtResult,
} from "../bench/rmt.ts";
import { openGpu } from "../runtime/adapter.ts";
import { count, namesFrom } from "./benchOptions.ts";
import { describeRmt, summaryTable } from "./benchRmtReport.ts";
import { addOutputOptions, type OutputFlags, publishRun, saveRun } from "./benchRun.ts";
import type { Io } from "./io.ts";
import { type MeasuredOn, measuredOn } from "./machine.ts";
import { newDevice } from "./newDevice.ts";
import { withProgress } from "./progress.ts";

/** What `belay bench rmt --json` prints. */
export interface RmtRun extends RmtResult, MeasuredOn {
  readonly size: "small" | "full";
  readonly runs: number;
  readonly measure: readonly Measurement[];
  readonly flavors: readonly Flavor[];
}

interface Flags extends OutputFlags {
  readonly size: "small" | "full";
  readonly runs: number;
  readonly only?: readonly string[];
  readonly measure: readonly Measurement[];
  readonly flavors: readonly Flavor[];
  readonly faultFree: number;
}

const name = "rmt";

/** `belay bench rmt`: what redundant multithreading costs, and why. */
export function benchRmtCommand(io: Io, finish: (status: number) => void): Command {
  const command = new Command("rmt")
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
    .action(async (flags: Flags) => {
      finish(
        await publishRun(
          { name, describe: describeRmt, summary: summaryTable },
          await runRmt(flags, io),
          flags,
          io,
        ),
      );
    });
  return addOutputOptions(command);
}

/** Measures what the flags say; the result so far is always in the output directory. */
async function runRmt(flags: Flags, io: Io): Promise<RmtRun> {
  const { size, runs, only, measure, flavors, faultFree } = flags;
  using opened = await openGpu({ dawnFlags: idleReplicaFlags });
  const about = (result: RmtResult): RmtRun => ({
    ...result,
    ...measuredOn(opened.choice),
    ...{ size, runs, measure, flavors },
  });
  const chosen = catalog.filter(({ name }) => only?.includes(name) ?? true);
  const programs = chosen.map(({ name, small }) => ({
    name,
    create: size === "full" ? benchmarkSizes[name]! : small,
  }));
  return withProgress(io, async ({ doing, tell }) =>
    about(
      await measureRmt({
        newDevice: () => newDevice(opened),
        ...{ size, programs, measure, flavors, runs, faultFree },
        powerTime: size === "full" ? 1000 : 200,
        progress: doing,
        save: async (sofar) => {
          tell(lineFor(sofar.programs.at(-1)!));
          await saveRun(name, about(sofar), flags);
        },
      }),
    ),
  );
}

/** A program in one line, for whoever watches a pipe. */
function lineFor({ name, overheads, failures }: ProgramResult): string {
  const ratios = overheads.flatMap((each) =>
    "ratio" in each ? [`${nameOf(each)} ${each.ratio.toFixed(2)}`] : [],
  );
  return [name, ...ratios, ...failures].join(", ");
}

const programsFrom = (text: string) =>
  namesFrom(
    text,
    catalog.map(({ name }) => name),
  );
const flavorsFrom = (text: string) => namesFrom(text, flavors);
const measurementsFrom = (text: string) => namesFrom(text, measurements);

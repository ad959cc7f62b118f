import { measuredOn } from "belay-cli/internal/shared/machine";
import { count, namesFrom, whole } from "belay-cli/internal/shared/options";
import type { Io } from "belay-cli/internal/shared/terminal/io";
import { type ProgressDisplay, withProgress } from "belay-cli/internal/shared/terminal/progress";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { Command, Option } from "commander";
import { modelPrograms } from "../../bench/programs/model.ts";
import {
  comparedPolicies,
  measurePrograms,
  type PolicyName,
  type ProgramsResult,
} from "../../bench/programs/programs.ts";
import { samplePrograms } from "../../bench/programs/samples.ts";
import { tensorflowPrograms } from "../../bench/programs/tensorflow.ts";
import { threePrograms } from "../../bench/programs/three.ts";
import { typegpuPrograms } from "../../bench/programs/typegpu.ts";
import { shapes } from "../../workloads/model/shape.ts";
import type { ProgramsRun } from "../results/results.ts";
import { addOutputOptions, type OutputFlags, publishRun, saveRun } from "../results/run.ts";
import { describePrograms, summaryTable } from "./report.ts";

interface Flags extends OutputFlags {
  readonly size: "small" | "full";
  readonly runs: number;
  readonly warmup: number;
  readonly calls: number;
  readonly only?: readonly string[];
  readonly policies: readonly PolicyName[];
}

const name = "programs";
const policyNames = Object.keys(comparedPolicies) as PolicyName[];
const elements = { small: 2 ** 10, full: 2 ** 24 };

/** Returns the command `belay bench programs`, which measures the time that programs wait. */
export function benchProgramsCommand(io: Io, finish: (status: number) => void): Command {
  const command = new Command(name)
    .summary("how long unmodified programs wait for verified results")
    .description(
      "Measures the wall time of unmodified programs on a hardened device and on the plain one, in alternation. The exit status is 1 when a result differs or a fault is reported that was not there.",
    )
    .addOption(
      new Option("--size <size>", "small runs anywhere, full keeps a large GPU busy")
        .choices(["small", "full"])
        .default("small"),
    )
    .option("--runs <count>", "runs on each device, in alternation", count, 9)
    .option("--warmup <count>", "runs before them that do not count", whole, 20)
    .option("--calls <count>", "calls of which host time is measured", whole, 10_000)
    .option("--only <programs>", "names of programs, with commas between", (text: string) => text.split(","))
    .option(
      "--policies <names>",
      `some of ${policyNames.join(", ")}`,
      (text: string) => namesFrom(text, policyNames),
      policyNames,
    )
    .action(async (flags: Flags) => {
      const benchmark = { name, describe: describePrograms, summary: summaryTable };
      finish(
        await publishRun(
          benchmark,
          await withProgress(io, "opening the GPU", (progress) => runPrograms(flags, progress)),
          flags,
          io,
        ),
      );
    });
  return addOutputOptions(command);
}

/** Measures according to the flags. The output directory always holds the result so far. */
async function runPrograms(flags: Flags, { doing }: ProgressDisplay): Promise<ProgramsRun> {
  const { size, runs, warmup, calls, only, policies } = flags;
  using opened = await openGpu({ nvidiaHalves: true });
  const all = [
    ...(await tensorflowPrograms(elements[size])),
    ...typegpuPrograms(elements[size]),
    ...threePrograms(elements[size]),
    ...samplePrograms(size === "full" ? "benchmark" : "small"),
    ...modelPrograms(shapes[size], opened.adapter.features.has("shader-f16") ? ["f32", "f16"] : ["f32"]),
  ];
  if (only)
    namesFrom(
      only.join(","),
      all.map((each) => each.name),
    );
  const programs = all.filter((each) => !only || only.includes(each.name));
  const about = (result: ProgramsResult): ProgramsRun => ({
    ...result,
    ...measuredOn(opened.choice),
    size,
    runs,
    warmup,
  });
  return about(
    await measurePrograms({
      newDevice: () => newDevice(opened),
      programs,
      policies,
      runs,
      warmup,
      calls,
      progress: doing,
      save: (sofar) => saveRun(name, about(sofar), flags),
    }),
  );
}

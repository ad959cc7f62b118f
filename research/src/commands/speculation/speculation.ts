import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { measuredOn } from "belay-cli/internal/shared/machine";
import { count, namesFrom, patience } from "belay-cli/internal/shared/options";
import type { Io } from "belay-cli/internal/shared/terminal/io";
import { type ProgressDisplay, withProgress } from "belay-cli/internal/shared/terminal/progress";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { Command, InvalidArgumentError, Option } from "commander";
import type { SpeculatedProgram } from "../../bench/speculation/program.ts";
import { loadSpeculated } from "../../bench/speculation/programRuns.ts";
import { measureSpeculation, type SpeculationResult } from "../../bench/speculation/speculation.ts";
import { type Variant, variants } from "../../bench/speculation/variants.ts";
import { compileLoop, describeCompiler, runCompiled } from "../../workloads/loops/compiled.ts";
import * as gatherScatter from "../../workloads/loops/gatherScatter.ts";
import { type LoopEntry, loops } from "../../workloads/loops/index.ts";
import type { SpeculationRun } from "../results/results.ts";
import { addOutputOptions, type OutputFlags, publishRun, readRun, saveRun } from "../results/run.ts";
import { describeSpeculation, lineFor, summaryTable } from "./report.ts";

const sizes = ["small", "documented", "scaled", "full"] as const;
type Size = (typeof sizes)[number];

interface Flags extends OutputFlags {
  readonly size: Size;
  readonly runs: number;
  readonly threads: number;
  readonly variantLimit: number;
  readonly only?: readonly string[];
  readonly variants?: readonly (Variant | "threads")[];
  readonly growth: readonly number[] | undefined;
  readonly timeLimit?: number;
  readonly resume: boolean;
}

const name = "speculation";

/**
 * Returns the command `belay bench speculation`, which measures the gains and costs of speculation.
 */
export function benchSpeculationCommand(io: Io, finish: (status: number) => void): Command {
  const command = new Command("speculation")
    .summary("what speculation gains and costs")
    .description(
      "Runs loops in order, in C, on threads and on the GPU, in the default engine and in the published one with parts left out, and verifies every result. The exit status is 1 when a result is wrong, or is missing because it took too long; the report keeps the two apart. Each loop is told, and kept in the JSON file, as soon as it is done.",
    )
    .addOption(
      new Option("--size <size>", "small runs anywhere; full is documented (the paper's) and scaled")
        .choices([...sizes])
        .default("small"),
    )
    .option("--runs <count>", "runs of each measurement, of which the median counts", count, 5)
    .option("--threads <count>", "threads of speculation on the CPU", count, availableParallelism())
    .option("--variant-limit <seconds>", "give up one variant of one loop after this time", patience, 60)
    .option("--time-limit <seconds>", "begin nothing further after this time; --resume goes on", count)
    .option("--resume", "keep what the result in the output directory has, and measure the rest", false)
    .option("--only <programs>", "names of programs, with commas between", programsFrom)
    .option(
      "--variants <names>",
      `some of ${variantNames.join(", ")}, besides C and JavaScript; hardened is measured only when named`,
      variantsFrom,
    )
    .option("--growth <bits>", "lengths of the growing loop, as powers of two with commas between", bitsFrom)
    .action(async (flags: Flags) => {
      const run = await withProgress(io, "opening the GPU", (progress) => runSpeculation(flags, progress));
      finish(
        await publishRun(
          { name, describe: describeSpeculation, summary: (run) => summaryTable(run) },
          run,
          flags,
          io,
        ),
      );
    });
  return addOutputOptions(command);
}

async function runSpeculation(flags: Flags, { doing, tell }: ProgressDisplay): Promise<SpeculationRun> {
  const { size, runs, threads, variantLimit, only, variants, growth, timeLimit, out, resume } = flags;
  const earlier = resume ? await readRun<SpeculationRun>(join(out, `${name}.json`)) : undefined;
  using opened = await openGpu();
  const directory = mkdtempSync(join(tmpdir(), "belay-"));
  const measured = size === "full" ? (["documented", "scaled"] as const) : ([size] as const);
  const chosen = loops.filter(({ name }) => only?.includes(name) ?? true);
  const allBits = size === "small" ? [8, 10] : [16, 18, 20, 22, 24, 26, 27];
  const bits = growth ?? (only ? [] : allBits);
  const compiler = describeCompiler();
  const about = (result: SpeculationResult): SpeculationRun => ({
    ...result,
    ...measuredOn(opened.choice),
    size,
    runs,
    threads,
    compiler,
    commands: [...new Set([...(earlier?.commands ?? []), commandFor(flags)])],
  });
  try {
    return about(
      await measureSpeculation({
        newDevice: () => newDevice(opened),
        programs: measured.flatMap((each) =>
          chosen.map((entry) => programOf(entry, each, entry[each], directory)),
        ),
        warmUp: programOf(warmUp, "small", warmUp.small, directory),
        growth: bits.map((bit) => growingProgram(bit, directory)),
        runs,
        threads,
        seconds: variantLimit,
        variants,
        ...(timeLimit !== undefined && { timeLimitMs: 1000 * timeLimit }),
        ...(earlier && { earlier }),
        progress: doing,
        save: (result) => saveRun(name, about(result), flags),
        measured: (program) => tell(lineFor(program, { threads, runs })),
      }),
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const warmUp = loops.find(({ name }) => name === "gatherScatter")!;

/** Returns the command line that makes the same measurements. */
function commandFor({ size, runs, only, variants, growth }: Flags): string {
  const words = [
    `belay bench speculation --size ${size} --runs ${runs}`,
    ...(only ? [`--only ${only.join(",")}`] : []),
    ...(variants ? [`--variants ${variants.map((each) => `"${each}"`).join(",")}`] : []),
    ...(growth ? [`--growth ${growth.join(",")}`] : []),
  ];
  return words.join(" ");
}

function programOf(
  { name, run }: Pick<LoopEntry, "name" | "run">,
  size: string,
  create: () => ReturnType<SpeculatedProgram["create"]>,
  directory: string,
): SpeculatedProgram {
  // Types and directives are in the sources only, which a build does not copy.
  const path = fileURLToPath(new URL(`../../../src/workloads/loops/${name}.ts`, import.meta.url));
  return {
    name,
    size,
    create,
    load: () => loadSpeculated(path, name),
    inOrder: {
      run,
      compiled: (parameters, runs, seconds) =>
        runCompiled(compileLoop(name, directory), parameters, runs, seconds),
    },
  };
}

/**
 * Returns a program in which one iteration in a thousand reads the element written by the one
 * before it.
 */
function growingProgram(bits: number, directory: string): SpeculatedProgram {
  const entry = loops.find(({ name }) => name === "gatherScatter")!;
  const create = () =>
    gatherScatter.create({ length: 2 ** bits, rate: 0.001 }) as ReturnType<LoopEntry["small"]>;
  const { inOrder: _, ...program } = programOf(entry, `2^${bits}`, create, directory);
  return program;
}

const variantNames = [...(Object.keys(variants) as Variant[]), "threads" as const];

const variantsFrom = (text: string) => namesFrom(text, variantNames);

const programsFrom = (text: string) =>
  namesFrom(
    text,
    loops.map(({ name }) => name),
  );

function bitsFrom(text: string): number[] {
  return text.split(",").map((bits) => {
    const number = Number(bits);
    if (!Number.isInteger(number) || number < 1 || number > 30)
      throw new InvalidArgumentError("Expected whole numbers from 1 to 30.");
    return number;
  });
}

import { measuredOn } from "belay-cli/internal/shared/machine";
import { count, namesFrom, whole } from "belay-cli/internal/shared/options";
import type { Io } from "belay-cli/internal/shared/terminal/io";
import { type ProgressDisplay, withProgress } from "belay-cli/internal/shared/terminal/progress";
import { openTimedGpu } from "belay-cli/internal/shared/workloads/openTimedGpu";
import type { Redundancy } from "belay-gpu/internal/compiler/contract";
import { newDevice } from "belay-node/internal/newDevice";
import { Command, Option } from "commander";
import { type EccResult, measureEcc } from "../../bench/ecc/ecc.ts";
import type { EccProgram } from "../../bench/ecc/program.ts";
import { flavors } from "../../bench/measuring/configurations.ts";
import { type ComparedCode, comparedCodes } from "../../ecc/index.ts";
import { heldOut } from "../../workloads/memory/heldOut.ts";
import { memoryCatalog } from "../../workloads/memory/index.ts";
import type { EccRun } from "../results/results.ts";
import { addOutputOptions, type OutputFlags, publishRun, saveRun } from "../results/run.ts";
import { describeEcc, summaryTable } from "./report.ts";

interface Flags extends OutputFlags {
  readonly size: "small" | "full";
  readonly runs: number;
  readonly only?: readonly string[];
  readonly heldOut?: true;
  readonly schemes: readonly ComparedCode[];
  readonly redundancy: Redundancy;
  readonly faultFree: number;
  readonly flips: number;
}

const usualSchemes: readonly ComparedCode[] = ["secded128", "secded64", "secded32", "detect", "checksum"];

const name = "ecc";

/**
 * Returns the command `belay bench ecc`, which measures the cost of protected memory and the errors
 * that it catches.
 */
export function benchEccCommand(io: Io, finish: (status: number) => void): Command {
  const command = new Command("ecc")
    .summary("what protected memory costs, and what it catches")
    .description(
      "Measures each program with unprotected memory and under every code: overhead beside what was predicted, transfers, the host's side, and what becomes of flipped bits. The exit status is 1 when a result is wrong or an error is reported that was not there.",
    )
    .addOption(
      new Option("--size <size>", "small runs anywhere, full keeps a large GPU busy")
        .choices(["small", "full"])
        .default("small"),
    )
    .option("--runs <count>", "runs of each code, in alternation with the unprotected program", count, 20)
    .option("--only <programs>", "names of programs, with commas between", programsFrom)
    .option("--held-out", "programs that the cost model is not fitted to, in place of the usual ones")
    .option("--schemes <codes>", `some of ${comparedCodes.join(", ")}`, schemesFrom, [...usualSchemes])
    .addOption(
      new Option("--redundancy <flavor>", "what protects the compute path meanwhile")
        .choices(["none", ...flavors])
        .default("none"),
    )
    .option("--fault-free <count>", "further runs under each code, in search of false reports", whole, 0)
    .option("--flips <count>", "code words that are struck by one bit flip, and as many by two", whole, 0)
    .action(async (flags: Flags) => {
      finish(
        await publishRun(
          { name, describe: describeEcc, summary: summaryTable },
          await withProgress(io, "opening the GPU", (progress) => runEcc(flags, progress)),
          flags,
          io,
        ),
      );
    });
  return addOutputOptions(command);
}

/** Measures according to the flags. The output directory always holds the result so far. */
async function runEcc(flags: Flags, { doing, tell }: ProgressDisplay): Promise<EccRun> {
  const { size, runs, only, schemes, redundancy, faultFree, flips } = flags;
  using opened = await openTimedGpu();
  const about = (result: EccResult): EccRun => ({
    ...result,
    ...measuredOn(opened.choice),
    size,
    runs,
    schemes,
    redundancy,
  });
  const usual = flags.heldOut ? heldOut : memoryCatalog;
  const chosen = only ? everyProgram.filter(({ name }) => only.includes(name)) : usual;
  return about(
    await measureEcc({
      newDevice: () => newDevice(opened),
      programs: chosen.map(({ name, ...sizes }) => ({ name, create: sizes[size] })),
      size,
      schemes,
      redundancy,
      runs,
      faultFree,
      flips,
      progress: doing,
      save: async (sofar) => {
        const last = sofar.programs.at(-1);
        if (last && sofar.host.length === 0) tell(lineFor(last));
        await saveRun(name, about(sofar), flags);
      },
    }),
  );
}

/** Returns a program's results in one line, for readers of a pipe. */
function lineFor({ name, overheads, failures }: EccProgram): string {
  const ratios = overheads.map(({ scheme, ratio }) => `${scheme} ${ratio.toFixed(3)}`);
  const time = overheads[0]?.unprotected.median.toFixed(4) ?? "?";
  return [`${name}: ${time} ms`, ...ratios, ...failures].join(", ");
}

const everyProgram = [...memoryCatalog, ...heldOut];
const programsFrom = (text: string) =>
  namesFrom(
    text,
    everyProgram.map(({ name }) => name),
  );
const schemesFrom = (text: string) => namesFrom(text, comparedCodes);

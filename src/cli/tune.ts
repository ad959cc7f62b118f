import { Command, InvalidArgumentError, Option } from "commander";
import ora from "ora";
import { nameOf, type Structure, structures } from "../compiler/configurations.ts";
import { openGpu } from "../runtime/adapter.ts";
import { type TunedKernel, tune } from "../runtime/tune.ts";
import { exitStatus } from "./failure.ts";
import { type Io, isTerminal } from "./io.ts";
import { loadWorkload } from "./loadWorkload.ts";
import { newDevice } from "./newDevice.ts";
import { alignColumns } from "./table.ts";

interface Flags {
  readonly cover: readonly Structure[];
  readonly runs: number;
  readonly json: boolean;
}

/** `belay tune`: which protection costs each kernel of a workload least on this device. */
export function tuneCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("tune")
    .summary("measure which protection costs a workload least")
    .description(
      "Runs the workload that a module exports as its default in every configuration that covers the structures asked for,\nand prints the cheapest one for each kernel. With --json, `policies` is what a policy takes as its `kernels`.",
    )
    .argument("<module>", "TypeScript or JavaScript module")
    .addOption(
      new Option("--cover <structures>", `some of ${structures.join(", ")}, with commas between`)
        .argParser(structuresFrom)
        .default(["ALU", "VRF", "LDS"] satisfies Structure[], "ALU,VRF,LDS"),
    )
    .addOption(new Option("--runs <count>", "runs of each configuration").argParser(countFrom).default(5))
    .option("--json", "print measurements and policies as JSON", false)
    .action(async (path: string, { cover, runs, json }: Flags) => {
      const workload = await loadWorkload(path);
      using opened = await openGpu();
      const stream = io.stderr as NodeJS.WriteStream;
      const progress = ora({ stream, isSilent: !isTerminal(io.stderr), discardStdin: false }).start();
      try {
        const tuning = await tune(workload, {
          ...{ cover, runs },
          newDevice: () => newDevice(opened),
          progress: (doing) => {
            progress.text = nameOf(doing);
          },
        });
        io.stdout.write(json ? `${JSON.stringify(tuning, null, 2)}\n` : `${render(tuning.kernels)}\n`);
        finish(tuning.kernels.length > 0 ? exitStatus.ok : exitStatus.failed);
      } finally {
        progress.stop();
      }
    });
}

function render(kernels: readonly TunedKernel[]): string {
  if (kernels.length === 0)
    return "No kernel of the workload can be protected so that all of this is covered.";
  return alignColumns(
    kernels.map(({ kernel, configuration, protected: guarded, unprotected, tried }) => [
      kernel,
      nameOf(configuration),
      `${(guarded / unprotected).toFixed(2)}x of ${unprotected.toFixed(3)} ms`,
      `best of ${tried.length}`,
    ]),
  );
}

function structuresFrom(text: string): Structure[] {
  return text.split(",").map((name) => {
    const found = structures.find((each) => each === name.trim());
    if (!found) throw new InvalidArgumentError(`"${name}" is none of ${structures.join(", ")}.`);
    return found;
  });
}

function countFrom(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1)
    throw new InvalidArgumentError("Expected a whole number from 1 on.");
  return number;
}

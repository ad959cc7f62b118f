import {
  describeConfiguration,
  type Structure,
  structures,
} from "belay-gpu/internal/compiler/configurations";
import type { TunedKernel } from "belay-gpu/internal/runtime/tuning/tune";
import type { MemoryTuning } from "belay-gpu/internal/runtime/tuning/tuneMemory";
import { Command, Option } from "commander";
import { count, namesFrom, refuseBeside, timeoutOption } from "../shared/options.ts";
import { exitStatus } from "../shared/terminal/failure.ts";
import { type Io, printJson, tell } from "../shared/terminal/io.ts";
import { withProgress } from "../shared/terminal/progress.ts";
import { alignColumns } from "../shared/terminal/table.ts";
import { askWorkload } from "../shared/workloads/askWorkload.ts";

interface Flags {
  readonly cover: readonly Structure[];
  readonly runs: number;
  readonly memory: boolean;
  readonly timeout: number;
  readonly json: boolean;
}

/**
 * Makes the command `belay tune`, which finds the cheapest protection of each kernel on this
 * device.
 */
export function tuneCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("tune")
    .description(
      "Runs the workload that a module exports as its default in every configuration that covers the structures asked for, and prints the cheapest one for each kernel. With --json, `policies` is what a policy takes as its `kernels`. With --memory, it compares instead the codes for memory that the text of the kernels leaves in question, by the time until the results are there.",
    )
    .argument("<module>", "TypeScript or JavaScript module")
    .addOption(
      new Option("--cover <structures>", `some of ${structures.join(", ")}, with commas between`)
        .argParser(structuresFrom)
        .default(["ALU", "VRF", "LDS"] satisfies Structure[], "ALU,VRF,LDS"),
    )
    .addOption(new Option("--runs <count>", "runs of each configuration").argParser(count).default(5))
    .option("--memory", "which code for memory costs least", false)
    .addOption(timeoutOption())
    .option("--json", "print measurements and policies as JSON", false)
    .hook("preAction", (_, action) => {
      if (action.opts<Flags>().memory) refuseBeside(action, "--memory", ["cover"], "codes cover memory");
    })
    .action(async (path: string, { cover, runs, memory, timeout, json }: Flags) => {
      if (memory) {
        const tuning = await withProgress(io, "loading the workload", ({ doing }) =>
          askWorkload("tuneMemory", path, { runs }, { timeout, doing }),
        );
        if (json) printJson(io, tuning);
        else tell(io.stdout, `${renderMemory(tuning)}\n`);
        finish(exitStatus.ok);
        return;
      }
      const tuning = await withProgress(io, "loading the workload", ({ doing }) =>
        askWorkload("tune", path, { cover, runs }, { timeout, doing }),
      );
      if (json) printJson(io, tuning);
      else tell(io.stdout, `${render(tuning.kernels)}\n`);
      finish(tuning.kernels.length > 0 ? exitStatus.ok : exitStatus.failed);
    });
}

function render(kernels: readonly TunedKernel[]): string {
  if (kernels.length === 0)
    return "No kernel of the workload can be protected so that all of this is covered.";
  return alignColumns([
    ["Kernel", "Costs least", "Protected to unprotected", "Tried"],
    ...kernels.map(({ kernel, configuration, protected: guarded, unprotected, tried }) => [
      kernel,
      describeConfiguration(configuration),
      `${(guarded / unprotected).toFixed(2)}x of ${unprotected.toFixed(3)} ms`,
      `${tried.length}`,
    ]),
  ]);
}

function renderMemory({ tried }: MemoryTuning): string {
  return alignColumns([
    ["Code", "Protected to unprotected"],
    ...tried.map(({ memory, milliseconds, unprotected }) => [
      memory,
      `${(milliseconds / unprotected).toFixed(2)}x of ${unprotected.toFixed(1)} ms`,
    ]),
  ]);
}

const structuresFrom = (text: string) => namesFrom(text, structures);

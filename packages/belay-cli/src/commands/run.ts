import { describeConfiguration } from "belay-gpu/internal/compiler/configurations";
import { plural } from "belay-gpu/internal/diagnostics/plural";
import type { Report } from "belay-gpu/internal/runtime/belay";
import { describeFault } from "belay-gpu/internal/runtime/context/detectedFault";
import { describeMemoryError } from "belay-gpu/internal/runtime/context/memoryFault";
import type { Policy } from "belay-gpu/internal/runtime/context/policy";
import { Command, InvalidArgumentError, Option } from "commander";
import {
  addPolicyOptions,
  memoryOption,
  type PolicyFlags,
  policyOf,
  timeoutOption,
} from "../shared/options.ts";
import { exitStatus } from "../shared/terminal/failure.ts";
import { colorsFor, type Io, printJson, tell } from "../shared/terminal/io.ts";
import { withProgress } from "../shared/terminal/progress.ts";
import { alignColumns } from "../shared/terminal/table.ts";
import { askWorkload } from "../shared/workloads/askWorkload.ts";
import type { ReferenceResult, RunResult } from "../shared/workloads/runWorkload.ts";

interface Flags extends PolicyFlags, Required<Pick<Policy, "onFault" | "memory" | "strict">> {
  readonly reference: boolean;
  readonly tolerance: number;
  readonly timeout: number;
  readonly json: boolean;
}

/**
 * Makes the command `belay run`, which runs a workload plain and hardened and compares the results.
 */
export function runCommand(io: Io, finish: (status: number) => void): Command {
  const command = new Command("run")
    .description(
      "Runs the workload that a module exports as its default, plain and hardened, and compares the results byte for byte. With --reference, its kernels run on the CPU in place of the hardened run, and floats may differ by --tolerance. What the workload prints goes to stderr. The exit status is 1 when they differ or a fault is detected.",
    )
    .argument("<module>", "TypeScript or JavaScript module");
  return addPolicyOptions(command)
    .addOption(memoryOption())
    .addOption(
      new Option("--on-fault <reaction>", "run again, hold results back, or report only")
        .choices(["recover", "throw", "report"])
        .default("recover"),
    )
    .option("--strict", "refuse kernels that would not be covered in full", false)
    .option(
      "--reference",
      "compare with the reference executor, which computes the kernels on the CPU",
      false,
    )
    .addOption(
      new Option(
        "--tolerance <number>",
        "how far floats may be from those of --reference, relative to the largest magnitude",
      )
        .argParser(tolerance)
        .default(1e-5),
    )
    .addOption(timeoutOption())
    .option("--json", "print the verdict as JSON", false)
    .action(async (path: string, flags: Flags) => {
      const { onFault, memory, strict, timeout, json } = flags;
      if (flags.reference) {
        const result = await withProgress(io, "running the workload on the device and the executor", () =>
          askWorkload("reference", path, { tolerance: flags.tolerance }, { timeout }),
        );
        if (json) printJson(io, result);
        else tell(io.stdout, renderReference(result, io));
        return finish(result.ok ? exitStatus.ok : exitStatus.failed);
      }
      const policy = { ...policyOf(flags), onFault, memory, strict };
      const result = await withProgress(io, "running the workload plain and hardened", () =>
        askWorkload("run", path, { policy }, { timeout }),
      );
      if (json) printJson(io, result);
      else tell(io.stdout, render(result, io));
      finish(result.ok ? exitStatus.ok : exitStatus.failed);
    });
}

function render(result: RunResult, io: Io): string {
  const color = colorsFor(io.stdout);
  const sizes = Object.entries(result.outputs).map(([name, bytes]) => `${name} (${bytes} bytes)`);
  const kernels = result.kernels.flatMap(({ kernel, redundancy, chosen, dispatches, diagnostics }) => [
    [
      kernel,
      redundancy === "none" ? color.yellow("not protected") : redundancy,
      plural(dispatches, "dispatch", "dispatches"),
    ],
    ...(chosen ? [["", "chosen", `${describeConfiguration(chosen)}: ${chosen.reason}`]] : []),
    ...diagnostics.map(({ code, message, line, column }) => ["", code, `${line}:${column} ${message}`]),
  ]);
  return [
    verdictOf(result, color),
    ...result.faults.map((fault) => `  ${describeFault(fault)} (${fault.outcome})`),
    ...result.memoryFaults.map((fault) => `  ${describeMemoryError(fault)} (${fault.outcome})`),
    "",
    alignColumns([
      ["results", sizes.join(", ")],
      ["adapter", result.adapter.description],
      ...(result.memory ? [["memory", describeMemory(result.memory)]] : []),
    ]),
    "",
    "Kernels",
    alignColumns(kernels),
    "",
  ].join("\n");
}

/** Parses a tolerance. */
function tolerance(text: string): number {
  const number = Number(text);
  if (text.trim() === "" || !Number.isFinite(number) || number < 0)
    throw new InvalidArgumentError("Expected a number from 0 on.");
  return number;
}

function renderReference({ ok, adapter, tolerance, outputs }: ReferenceResult, io: Io): string {
  const color = colorsFor(io.stdout);
  const rows = Object.entries(outputs).map(([name, { bytes, different, largest, difference }]) => [
    name,
    `${bytes} bytes`,
    difference ??
      (different === 0
        ? "the same bits"
        : `${plural(different, "number")} rounded in another way, by at most ${largest!.toPrecision(2)} of the largest`),
  ]);
  return [
    ok
      ? color.green("The device computes what the reference executor computes.")
      : color.red(`The device differs from the reference executor by more than ${tolerance}.`),
    "",
    alignColumns([...rows, ["adapter", adapter.description]]),
    "",
  ].join("\n");
}

function describeMemory({ scheme, buffers, corrected, correctedLoads, held }: NonNullable<Report["memory"]>) {
  return `${scheme}, ${plural(buffers.length, "buffer")} alive at the end, ${plural(corrected + correctedLoads, "correction")}, ${held} bytes for check words`;
}

function verdictOf(result: RunResult, color: ReturnType<typeof colorsFor>): string {
  if (result.refused) return color.red("A fault was detected, and the results were held back.");
  if (result.difference) return color.red(`The protected run differs: ${result.difference}.`);
  if (result.faults.length + result.memoryFaults.length > 0)
    return color.red("The runs agree, but faults were detected.");
  return color.green("The runs agree byte for byte, and no fault was detected.");
}

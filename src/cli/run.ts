import { Command, Option } from "commander";
import { nameOf } from "../compiler/configurations.ts";
import { plural } from "../diagnostics/plural.ts";
import { type AdapterChoice, openGpu } from "../runtime/adapter.ts";
import type { KernelReport, Report } from "../runtime/belay.ts";
import { describeFault, type Fault } from "../runtime/fault.ts";
import { harden } from "../runtime/harden.ts";
import { describeMemoryError } from "../runtime/memory/memoryFault.ts";
import { newDevice } from "../runtime/newDevice.ts";
import { describeDifference, findDifference } from "../runtime/outputDifference.ts";
import type { Policy } from "../runtime/policy.ts";
import type { Workload } from "../runtime/workload.ts";
import { exitStatus } from "./failure.ts";
import { colorsFor, type Io } from "./io.ts";
import { loadWorkload } from "./loadWorkload.ts";
import { addPolicyOptions, memoryOption, type PolicyFlags, policyOf } from "./options.ts";
import { runUnlessRefused, runWorkload } from "./runWorkload.ts";
import { alignColumns } from "./table.ts";

/** What `belay run --json` prints. */
export interface RunResult {
  /** The protected run gave the same bytes, and no fault was detected. */
  readonly ok: boolean;
  readonly adapter: AdapterChoice;
  readonly policy: Policy;
  /** Sizes of the results in bytes, by name, as the unprotected run gave them. */
  readonly outputs: Readonly<Record<string, number>>;
  /** The first difference between the runs; absent when there is none, or when the results were refused. */
  readonly difference?: string;
  /** Results were not released, because a detected fault may have reached them. */
  readonly refused: boolean;
  readonly faults: readonly Fault[];
  /** What was found in protected memory; absent without. */
  readonly memory?: Report["memory"];
  readonly memoryFaults: Report["memoryFaults"];
  readonly kernels: readonly KernelReport[];
}

interface Flags extends PolicyFlags, Required<Pick<Policy, "onFault" | "memory" | "strict">> {
  readonly json: boolean;
}

/** `belay run`: one workload, plain and hardened, and whether the two agree. */
export function runCommand(io: Io, finish: (status: number) => void): Command {
  const command = new Command("run")
    .summary("run a workload plain and hardened, and compare")
    .description(
      "Runs the workload that a module exports as its default, plain and hardened, and compares the results byte for byte. The exit status is 1 when they differ or a fault is detected.",
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
    .option("--json", "print the verdict as JSON", false)
    .action(async (path: string, flags: Flags) => {
      const { onFault, memory, strict, json } = flags;
      const policy = { ...policyOf(flags), onFault, memory, strict };
      const result = await runTwice(await loadWorkload(path), policy);
      io.stdout.write(json ? `${JSON.stringify(result, null, 2)}\n` : render(result, io));
      finish(result.ok ? exitStatus.ok : exitStatus.failed);
    });
}

async function runTwice(workload: Workload, policy: Policy): Promise<RunResult> {
  using opened = await openGpu();
  const plain = await newDevice(opened);
  const expected = await runWorkload(workload, plain);
  plain.destroy();

  const native = await newDevice(opened);
  const device = await harden(native, policy);
  const actual = await runUnlessRefused(workload, device);
  const { kernels, faults, memory, memoryFaults } = await device.belay.report();
  native.destroy();

  const difference = actual && findDifference(expected, actual);
  return {
    ok: actual !== undefined && difference === undefined && faults.length + memoryFaults.length === 0,
    adapter: opened.choice,
    policy,
    outputs: Object.fromEntries(Object.entries(expected).map(([name, view]) => [name, view.byteLength])),
    ...(difference && { difference: describeDifference(difference) }),
    refused: actual === undefined,
    faults,
    ...(memory && { memory }),
    memoryFaults,
    kernels,
  };
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
    ...(chosen ? [["", "chosen", `${nameOf(chosen)}: ${chosen.reason}`]] : []),
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

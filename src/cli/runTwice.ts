import { type AdapterChoice, openGpu } from "../runtime/adapter.ts";
import type { KernelReport, Report } from "../runtime/belay.ts";
import type { Fault } from "../runtime/fault.ts";
import { harden } from "../runtime/harden.ts";
import { newDevice } from "../runtime/newDevice.ts";
import { describeDifference, findDifference } from "../runtime/outputDifference.ts";
import type { Policy } from "../runtime/policy.ts";
import type { Workload } from "../runtime/workload.ts";
import { runUnlessRefused, runWorkload } from "./runWorkload.ts";

/** The verdict of `belay run`, which `--json` prints. */
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

/** Runs a workload plain and hardened, and compares the results. */
export async function runTwice(workload: Workload, policy: Policy): Promise<RunResult> {
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

import type { KernelReport, Report } from "belay-gpu/internal/runtime/belay";
import type { DetectedFault } from "belay-gpu/internal/runtime/context/detectedFault";
import type { Policy } from "belay-gpu/internal/runtime/context/policy";
import { harden } from "belay-gpu/internal/runtime/harden";
import { describeDifference, findDifference } from "belay-gpu/internal/runtime/tuning/outputDifference";
import type { Workload } from "belay-gpu/internal/runtime/tuning/workload";
import { type AdapterChoice, openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { runUnlessRefused, runWorkload } from "./runWorkload.ts";

/** The verdict of `belay run`, which `--json` prints. */
export interface RunResult {
  /** The protected run gave the same bytes, and no fault was detected. */
  readonly ok: boolean;
  readonly adapter: AdapterChoice;
  readonly policy: Policy;
  /** Sizes of the results in bytes, by name, as the unprotected run gave them. */
  readonly outputs: Readonly<Record<string, number>>;
  /**
   * The first difference between the runs; absent when there is none, or when the results were
   * refused.
   */
  readonly difference?: string;
  /** Results were not released, because a detected fault may have reached them. */
  readonly refused: boolean;
  readonly faults: readonly DetectedFault[];
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

/** What `redundancy: "auto"` costs: chosen from the kernel's text, and chosen by measurement. */
import { tune } from "../runtime/tune.ts";
import type { Prepared, Program, Workload } from "../runtime/workload.ts";
import { nameOf } from "./configurations.ts";
import { type Baseline, type Cost, measureCost, type Refused } from "./overhead.ts";

export interface Automatic {
  readonly predicted: Cost | Refused;
  readonly tuned: Cost | Refused;
  /** What tuning chose, by kernel. */
  readonly choices: Readonly<Record<string, string>>;
}

/** Runs for each configuration that is tried while tuning. */
const tuningRuns = 3;

export async function measureAutomatic(
  program: Program,
  newDevice: () => Promise<GPUDevice>,
  baseline: Baseline,
  runs: number,
): Promise<Automatic> {
  const { kernels, policies } = await tune(preparedOnce(program), { newDevice, runs: tuningRuns });
  const cost = async (policy: Parameters<typeof measureCost>[3]) =>
    measureCost(program, await newDevice(), baseline, policy, runs);
  return {
    predicted: await cost({ redundancy: "auto" }),
    tuned: await cost({ redundancy: "auto", kernels: policies }),
    choices: Object.fromEntries(kernels.map(({ kernel, configuration }) => [kernel, nameOf(configuration)])),
  };
}

/** The program as a workload that uploads once for each device and reads nothing back: only its kernels' times matter. */
function preparedOnce(program: Program): Workload {
  const known = new WeakMap<GPUDevice, Prepared>();
  return async (device) => {
    const prepared = known.get(device) ?? program.prepare(device);
    known.set(device, prepared);
    prepared.reset?.();
    const encoder = device.createCommandEncoder();
    prepared.encode(encoder);
    device.queue.submit([encoder.finish()]);
    await device.queue.onSubmittedWorkDone();
    return {};
  };
}

/** The cost of `redundancy: "auto"`, once chosen from the kernel's text and once by measurement. */
import { tune } from "belay-gpu/internal/runtime/tuning/tune";
import type { Prepared, VerifiableProgram, Workload } from "belay-gpu/internal/runtime/tuning/workload";
import { describeConfiguration } from "../measuring/configurations.ts";
import { type Baseline, type Cost, measureCost, type Refused, withGuarded } from "../measuring/overhead.ts";

export interface Automatic {
  readonly predicted: Chosen | Refused;
  readonly tuned: Chosen | Refused;
}

export interface Chosen extends Cost {
  readonly choices: readonly Choice[];
}

/** The choice for a kernel. */
export interface Choice {
  readonly kernel: string;
  readonly configuration: string;
  /** The reason, if the kernel's text decided. */
  readonly reason?: string;
}

/** The number of runs for each configuration that is tried while tuning. */
const tuningRuns = 3;

export async function measureAutomatic(
  program: VerifiableProgram,
  newDevice: () => Promise<GPUDevice>,
  baseline: Baseline,
  runs: number,
): Promise<Automatic> {
  const predicted = await withGuarded(program, await newDevice(), { redundancy: "auto" }, async (guarded) => {
    const { kernels } = await guarded.device.belay.report();
    const choices = kernels.flatMap(({ kernel, chosen }): Choice[] =>
      chosen ? [{ kernel, configuration: describeConfiguration(chosen), reason: chosen.reason }] : [],
    );
    return { ...(await measureCost(guarded, baseline, runs)), choices };
  });
  const tuning = await tune(preparedOnce(program), { newDevice, runs: tuningRuns });
  const choices = tuning.kernels.map(
    ({ kernel, configuration }): Choice => ({ kernel, configuration: describeConfiguration(configuration) }),
  );
  // The same choices need not be timed again.
  if ("choices" in predicted && isSame(choices, predicted.choices)) {
    return { predicted, tuned: { ...predicted, choices } };
  }
  const policy = { redundancy: "auto", kernels: tuning.policies } as const;
  const tuned = await withGuarded(program, await newDevice(), policy, async (guarded) => ({
    ...(await measureCost(guarded, baseline, runs)),
    choices,
  }));
  return { predicted, tuned };
}

const isSame = (some: readonly Choice[], others: readonly Choice[]) =>
  some.length === others.length &&
  some.every(({ kernel, configuration }) =>
    others.some((other) => other.kernel === kernel && other.configuration === configuration),
  );

/**
 * Returns the program as a workload that uploads once for each device and reads nothing back: only
 * its kernels' times matter.
 */
function preparedOnce(program: VerifiableProgram): Workload {
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

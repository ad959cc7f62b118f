/** The runs without an injected fault, which must raise no alarm and change no bit. */
import type { HardenedDevice } from "belay-gpu/internal/runtime/hardenedDevice";
import type { Outputs } from "belay-gpu/internal/runtime/tuning/workload";
import type { Configuration } from "../measuring/configurations.ts";
import { countDifferent } from "../measuring/countDifferent.ts";
import { findingsOf } from "../measuring/overhead.ts";
import type { TimedProgram } from "../measuring/timing.ts";

export interface FaultFree extends Configuration {
  readonly runs: number;
  /** The number of false alarms. */
  readonly detections: number;
  /** The number of waits for the other replica that timed out. */
  readonly unverified: number;
  /** The number of runs whose outputs differed in any bit from those of the unprotected program. */
  readonly different: number;
}

/** Runs a program many times on a device that it has run on before, and compares every output. */
export async function countFalseAlarms(
  device: HardenedDevice,
  guarded: TimedProgram,
  expected: Outputs,
  configuration: Configuration,
  runs: number,
): Promise<FaultFree> {
  const before = await findingsOf(device);
  const different = await countDifferent(device, guarded, expected, runs);
  const after = await findingsOf(device);
  return {
    ...configuration,
    runs,
    detections: after.detections - before.detections,
    unverified: after.unverified - before.unverified,
    different,
  };
}

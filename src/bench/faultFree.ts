/** Runs without an injected fault, which must raise no alarm and change no bit. */
import { harden } from "../runtime/harden.ts";
import type { Outputs, Program } from "../runtime/workload.ts";
import type { Configuration } from "./configurations.ts";
import { findingsOf, gapsOf } from "./overhead.ts";
import { sameBits, TimedProgram } from "./timing.ts";

export interface FaultFree extends Configuration {
  readonly runs: number;
  /** False alarms. */
  readonly detections: number;
  /** Waits for a twin that ran out. */
  readonly unverified: number;
  /** Runs whose outputs were not, bit for bit, those of the unprotected program. */
  readonly different: number;
}

/** Undefined where the program stays unprotected in this configuration. */
export async function countFalseAlarms(
  program: Program,
  native: GPUDevice,
  expected: Outputs,
  configuration: Configuration,
  runs: number,
): Promise<FaultFree | undefined> {
  const device = await harden(native, { ...configuration, onFault: "report" });
  using guarded = new TimedProgram(program, device);
  if (await gapsOf(device, guarded)) return undefined;
  let different = 0;
  for (let i = 0; i < runs; i++) {
    await guarded.run();
    if (!sameBits(await guarded.read(), expected)) different++;
  }
  return { ...configuration, runs, ...(await findingsOf(device)), different };
}

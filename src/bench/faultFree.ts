/** Runs without an injected fault, which must raise no alarm and change no bit. */
import type { HardenedDevice } from "../runtime/hardenedDevice.ts";
import type { Outputs } from "../runtime/workload.ts";
import type { Configuration } from "./configurations.ts";
import { findingsOf } from "./overhead.ts";
import { sameBits, type TimedProgram } from "./timing.ts";

export interface FaultFree extends Configuration {
  readonly runs: number;
  /** False alarms. */
  readonly detections: number;
  /** Waits for a twin that ran out. */
  readonly unverified: number;
  /** Runs whose outputs were not, bit for bit, those of the unprotected program. */
  readonly different: number;
}

/** Runs that are under way at once, as far as their outputs take no more than so many bytes: most of a small run is waiting. */
const underWay = { runs: 16, bytes: 2 ** 26 };

/** Runs a program again and again on a device that it has run on before, and compares every output. */
export async function countFalseAlarms(
  device: HardenedDevice,
  guarded: TimedProgram,
  expected: Outputs,
  configuration: Configuration,
  runs: number,
): Promise<FaultFree> {
  const before = await findingsOf(device);
  const bytes = Object.values(expected).reduce((sum, { byteLength }) => sum + byteLength, 0);
  const most = Math.max(1, Math.min(underWay.runs, Math.floor(underWay.bytes / bytes)));
  const reads: Promise<Outputs>[] = [];
  let different = 0;
  for (let run = 0; run < runs + most; run++) {
    if (run >= most && !sameBits(await reads.shift()!, expected)) different++;
    if (run >= runs) continue;
    guarded.submit();
    const read = guarded.read();
    // Whoever waits for it tells; should that be nobody, as another one failed, it is no error of its own.
    read.catch(() => {});
    reads.push(read);
  }
  const after = await findingsOf(device);
  return {
    ...configuration,
    runs,
    detections: after.detections - before.detections,
    unverified: after.unverified - before.unverified,
    different,
  };
}

import type { Prepared, Program } from "belay-gpu/internal/runtime/tuning/workload";
import { median } from "simple-statistics";

/** Milliseconds of one run. */
export interface DemoTimes {
  readonly unprotected: number;
  readonly protected: number;
}

const timedBatches = 5;
/** Less than this, and a time tells more of the host than of the GPU. */
const batchMilliseconds = 10;
const maxBatch = 128;
/**
 * A GPU that has waited for the host runs at a fraction of its clocks for about as long as this.
 */
const warmUpMilliseconds = 300;

/**
 * The median time of a run on each of two devices in turn, from submission until its results may be
 * read. Short runs are submitted many at once.
 */
export async function timeInTurn(
  program: Program,
  plain: GPUDevice,
  hardened: GPUDevice,
): Promise<DemoTimes> {
  const [onPlain, onHardened] = [program.prepare(plain), program.prepare(hardened)];
  await timeOfBatch(onHardened, hardened, 1);
  const began = performance.now();
  let shortest = await timeOfBatch(onPlain, plain, 1);
  while (performance.now() - began < warmUpMilliseconds)
    shortest = Math.min(shortest, await timeOfBatch(onPlain, plain, 1));
  const runs = Math.min(maxBatch, Math.ceil(batchMilliseconds / shortest));

  const times: { unprotected: number; protected: number }[] = [];
  for (let batch = 0; batch < timedBatches; batch++)
    times.push({
      unprotected: (await timeOfBatch(onPlain, plain, runs)) / runs,
      protected: (await timeOfBatch(onHardened, hardened, runs)) / runs,
    });
  onPlain.destroy();
  onHardened.destroy();
  return {
    unprotected: median(times.map(({ unprotected }) => unprotected)),
    protected: median(times.map((each) => each.protected)),
  };
}

/** Runs behind one another, the inputs put back before the first of them. */
async function timeOfBatch(prepared: Prepared, device: GPUDevice, runs: number): Promise<number> {
  prepared.reset?.();
  await device.queue.onSubmittedWorkDone();
  const start = performance.now();
  const encoder = device.createCommandEncoder();
  for (let run = 0; run < runs; run++) prepared.encode(encoder);
  device.queue.submit([encoder.finish()]);
  await device.queue.onSubmittedWorkDone();
  return performance.now() - start;
}

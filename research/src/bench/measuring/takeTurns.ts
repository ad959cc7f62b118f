import { GpuLoad } from "./gpuLoad.ts";

/** The milliseconds of load before all turns, in which the clock of a GPU rises after a pause. */
const warmUp = 500;
/** The milliseconds of load before each turn, which keep it there. */
const loadEach = 10;

/** The end of turns: all programs have had so many turns, and the seconds are over. */
interface TurnsEnd {
  readonly rounds: number;
  readonly seconds?: number;
}

/**
 * Runs programs in turns, and returns the samples of each one. A turn has two runs. The second one
 * counts, as the first one finds the caches as another program left them. The clock of a waiting
 * GPU falls, so `device` keeps it busy in between.
 *
 * All that a program prepares, such as pipelines, should be ready before.
 */
export async function takeTurns<Sample>(
  device: GPUDevice,
  programs: readonly (() => Promise<Sample>)[],
  { rounds, seconds = 0 }: TurnsEnd,
): Promise<Sample[][]> {
  const samples = programs.map((): Sample[] => []);
  const load = new GpuLoad(device);
  await load.work(warmUp);
  const end = performance.now() + 1000 * seconds;
  for (let round = 0; round < rounds || performance.now() < end; round++) {
    for (const [i, run] of programs.entries()) {
      await load.work(loadEach);
      await run();
      samples[i]!.push(await run());
    }
  }
  return samples;
}

/** The programs of the paper on redundant multithreading, as somebody uses them. */
import { catalog } from "../../workloads/samples/index.ts";
import type { UsedProgram } from "./program.ts";

/** The number of submitted runs between two waits. */
const RUNS_PER_WAIT = 10;

/** Returns programs that submit several runs and wait for the results of all. */
export function samplePrograms(size: "small" | "benchmark"): UsedProgram[] {
  return catalog.map((sample) => ({
    name: sample.name,
    source: "papers' programs",
    prepare: async (device) => {
      const prepared = sample[size]().prepare(device);
      return {
        run: async () => {
          for (let run = 0; run < RUNS_PER_WAIT; run++) {
            prepared.reset?.();
            const encoder = device.createCommandEncoder();
            prepared.encode(encoder);
            device.queue.submit([encoder.finish()]);
          }
          await device.queue.onSubmittedWorkDone();
          return [];
        },
      };
    },
  }));
}

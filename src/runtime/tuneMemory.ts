import { median } from "simple-statistics";
import type { SchemeName } from "../codes/scheme.ts";
import type { Redundancy } from "../compiler/contract.ts";
import { correctingSchemes } from "../compiler/memoryChoice.ts";
import { harden } from "./harden.ts";
import type { Workload } from "./workload.ts";

export interface TuneMemoryOptions {
  /** A new device of the adapter that the workload is going to run on. */
  readonly newDevice: () => Promise<GPUDevice>;
  /** Default: the codes that correct, one for each size of granule. */
  readonly candidates?: readonly SchemeName[];
  /** What protects the compute path meanwhile. Default `"none"`. */
  readonly redundancy?: Redundancy;
  /** Runs under each code. Default 5. */
  readonly runs?: number;
  readonly progress?: (doing: SchemeName | "none") => void;
}

export interface MemoryTuning {
  /** For `Policy.memory`. */
  readonly memory: SchemeName;
  /** Median milliseconds of the workload, from its call until its results are there. */
  readonly protected: number;
  readonly unprotected: number;
  /** Every code, the fastest first. */
  readonly tried: readonly { readonly memory: SchemeName; readonly milliseconds: number }[];
}

/**
 * Measures which code for memory costs a workload least: `memory: "auto"`, by measurement. What a kernel's text does not tell counts
 * here: how large buffers are, how often kernels run, what indices they hold, and what transfers cost.
 *
 * Rejects with whatever the workload rejects with.
 */
export async function tuneMemory(workload: Workload, options: TuneMemoryOptions): Promise<MemoryTuning> {
  const { newDevice, candidates = correctingSchemes, redundancy = "none", runs = 5, progress } = options;
  const measure = async (memory: SchemeName | "none") => {
    progress?.(memory);
    const native = await newDevice();
    const device = await harden(native, { redundancy, memory, onFault: "throw" });
    const times: number[] = [];
    // The first run makes things ready.
    for (let run = 0; run <= runs; run++) {
      const start = performance.now();
      await workload(device);
      if (run > 0) times.push(performance.now() - start);
    }
    native.destroy();
    return median(times);
  };
  const unprotected = await measure("none");
  const tried: { memory: SchemeName; milliseconds: number }[] = [];
  for (const memory of candidates) tried.push({ memory, milliseconds: await measure(memory) });
  tried.sort((a, b) => a.milliseconds - b.milliseconds);
  const [best] = tried;
  if (!best) throw new TypeError("there is no code to try");
  return { memory: best.memory, protected: best.milliseconds, unprotected, tried };
}

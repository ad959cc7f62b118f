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
  readonly progress?: (doing: SchemeName) => void;
}

export interface MemoryTuning {
  /** For `Policy.memory`. */
  readonly memory: SchemeName;
  /** Median milliseconds of the workload, from its call until its results are there, and of the unprotected runs between. */
  readonly protected: number;
  readonly unprotected: number;
  /** Every code, the one that costs least first. */
  readonly tried: readonly TriedMemory[];
}

interface TriedMemory {
  readonly memory: SchemeName;
  readonly milliseconds: number;
  readonly unprotected: number;
}

/**
 * Measures which code for memory costs a workload least: `memory: "auto"`, by measurement. What a kernel's text does not tell counts
 * here: how large buffers are, how often kernels run, what indices they hold, and what transfers cost. The workload runs under each code
 * in alternation with itself unprotected, as a GPU's clocks change meanwhile.
 *
 * Rejects with whatever the workload rejects with.
 */
export async function tuneMemory(workload: Workload, options: TuneMemoryOptions): Promise<MemoryTuning> {
  const { newDevice, candidates = correctingSchemes, redundancy = "none", runs = 5, progress } = options;
  const deviceWith = async (memory: SchemeName | "none") => {
    const native = await newDevice();
    return { native, device: await harden(native, { redundancy, memory, onFault: "throw" }) };
  };
  const plain = await deviceWith("none");
  const tried: TriedMemory[] = [];
  for (const memory of candidates) {
    progress?.(memory);
    const coded = await deviceWith(memory);
    const times = { plain: [] as number[], coded: [] as number[] };
    // The first run makes things ready.
    for (let run = 0; run <= runs; run++) {
      const unprotected = await millisecondsOf(workload, plain.device);
      const milliseconds = await millisecondsOf(workload, coded.device);
      if (run === 0) continue;
      times.plain.push(unprotected);
      times.coded.push(milliseconds);
    }
    coded.native.destroy();
    tried.push({ memory, milliseconds: median(times.coded), unprotected: median(times.plain) });
  }
  plain.native.destroy();
  tried.sort((a, b) => a.milliseconds / a.unprotected - b.milliseconds / b.unprotected);
  const [best] = tried;
  if (!best) throw new TypeError("there is no code to try");
  return { memory: best.memory, protected: best.milliseconds, unprotected: best.unprotected, tried };
}

async function millisecondsOf(workload: Workload, device: GPUDevice): Promise<number> {
  const start = performance.now();
  await workload(device);
  return performance.now() - start;
}

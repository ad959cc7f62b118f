import type { MemoryCode } from "../../codes/scheme.ts";
import type { Redundancy } from "../../compiler/contract.ts";
import { inQuestion, rankSchemes } from "../../compiler/memoryChoice.ts";
import { harden } from "../harden.ts";
import { median } from "./median.ts";
import type { Workload } from "./workload.ts";

/** What to measure, and on which devices. */
export interface TuneMemoryOptions {
  /** A new device of the adapter that the workload is going to run on. */
  readonly newDevice: () => Promise<GPUDevice>;
  /**
   * Default: of the codes that correct, those of which the text of the kernels does not tell which
   * costs least.
   */
  readonly candidates?: readonly MemoryCode[];
  /** What protects the compute path meanwhile. Default `"none"`. */
  readonly redundancy?: Redundancy;
  /** Runs under each code. Default 5. */
  readonly runs?: number;
  /** Milliseconds of a run. Default: from the workload's call until its results are there. */
  readonly time?: (device: GPUDevice) => Promise<number>;
  readonly progress?: (doing: MemoryCode) => void;
}

/** What to harden a device with, and what was measured. */
export interface MemoryTuning {
  /** For `Policy.memory`. */
  readonly memory: MemoryCode;
  /** Median milliseconds of a run, and of the unprotected runs between. */
  readonly protected: number;
  readonly unprotected: number;
  /** Every code, the one that costs least first. */
  readonly tried: readonly TriedMemory[];
}

/** A code that was measured, and median milliseconds of a run under it and unprotected. */
export interface TriedMemory {
  readonly memory: MemoryCode;
  readonly milliseconds: number;
  readonly unprotected: number;
}

/**
 * Measures which code for memory costs a workload least: `memory: "auto"`, from the text of its
 * kernels first, and where that leaves a question, by a short measurement. What a text does not
 * tell counts there: how large buffers are, how often kernels run, what indices they hold, and what
 * transfers cost. The workload runs under each code in alternation with itself unprotected, as a
 * GPU's clocks change meanwhile.
 *
 * Rejects with a `TypeError` for no candidates, and with whatever the workload rejects with.
 */
export async function tuneMemory(workload: Workload, options: TuneMemoryOptions): Promise<MemoryTuning> {
  const { newDevice, redundancy = "none", runs = 5, progress } = options;
  const time = options.time ?? ((device) => millisecondsOf(workload, device));
  const deviceWith = async (memory: MemoryCode | "none") => {
    const native = await newDevice();
    return { native, device: await harden(native, { redundancy, memory, onFault: "throw" }) };
  };
  const plain = await deviceWith("none");
  const candidates = options.candidates ?? (await candidatesFor(workload, plain.device, redundancy));
  const tried: TriedMemory[] = [];
  for (const memory of candidates) {
    progress?.(memory);
    const coded = await deviceWith(memory);
    const times = { plain: [] as number[], coded: [] as number[] };
    // The first run makes things ready.
    for (let run = 0; run <= runs; run++) {
      const unprotected = await time(plain.device);
      const milliseconds = await time(coded.device);
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

/** The codes in question for the kernels of a workload, which runs once so that they are known. */
async function candidatesFor(
  workload: Workload,
  device: GPUDevice,
  redundancy: Redundancy,
): Promise<MemoryCode[]> {
  const sources = new Set<string>();
  const create = device.createShaderModule.bind(device);
  device.createShaderModule = (descriptor) => {
    sources.add(descriptor.code);
    return create(descriptor);
  };
  await workload(device);
  const { features, limits } = device;
  return inQuestion(rankSchemes([...sources], { features, limits, redundancy }));
}

async function millisecondsOf(workload: Workload, device: GPUDevice): Promise<number> {
  const start = performance.now();
  await workload(device);
  return performance.now() - start;
}

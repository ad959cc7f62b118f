import type { Redundancy } from "../../compiler/contract.ts";
import { inQuestion, rankSchemes } from "../../compiler/memoryChoice.ts";
import { choices } from "../../compiler/settings.ts";
import {
  aFunction,
  listOf,
  longWork,
  oneOf,
  refuseUnknown,
  shown,
  type Values,
  wholeFrom,
} from "../../diagnostics/options.ts";
import type { LongWork } from "../../diagnostics/progress.ts";
import { type MemoryCode, memoryCodes } from "../../ecc/scheme.ts";
import { harden } from "../harden.ts";
import { median } from "./median.ts";
import { Devices, refuseNoWorkload, type Workload } from "./workload.ts";

/** The options of {@link tuneMemory}. */
export interface TuneMemoryOptions extends LongWork {
  /** Creates a new device of the adapter that the workload will run on. */
  readonly newDevice: () => Promise<GPUDevice>;
  /**
   * The codes to measure. Default: the correcting codes between which the text of the kernels does
   * not decide.
   */
  readonly candidates?: readonly MemoryCode[];
  /** The redundancy of kernels during the measurement. Default `"none"`. */
  readonly redundancy?: Redundancy;
  /** The number of runs under each code. Default 5. */
  readonly runs?: number;
  /**
   * Measures a run in milliseconds. Default: the time from the call of the workload until its
   * results are available.
   */
  readonly time?: (device: GPUDevice) => Promise<number>;
}

/** The options of `tuneMemory`, with their valid values. */
const optionValues: { readonly [Name in keyof Required<TuneMemoryOptions>]: Values } = {
  newDevice: aFunction,
  candidates: listOf(memoryCodes.map(shown).join(", "), (each) => memoryCodes.includes(each as MemoryCode)),
  redundancy: oneOf(choices.redundancy.filter((each) => each !== "auto")),
  runs: wholeFrom(1),
  time: aFunction,
  ...longWork,
};

/** The result of {@link tuneMemory}. */
export interface MemoryTuning {
  /** The value for `Policy.memory`. */
  readonly memory: MemoryCode;
  /** The median milliseconds of a run under this code. */
  readonly protected: number;
  /** The median milliseconds of the unprotected runs in between. */
  readonly unprotected: number;
  /** All measured codes, the cheapest first. */
  readonly tried: readonly TriedMemory[];
}

/** A measured code, with the median milliseconds of a run under it and unprotected. */
export interface TriedMemory {
  /** The measured code. */
  readonly memory: MemoryCode;
  /** The median milliseconds of a run under the code. */
  readonly milliseconds: number;
  /** The median milliseconds of the unprotected runs in between. */
  readonly unprotected: number;
}

/**
 * Measures the cheapest memory code for a workload. By default, the text of the kernels first rules
 * out codes, as with `memory: "auto"`. The text does not tell the sizes of buffers, the number of
 * runs, the values of indices, or the cost of transfers. Unprotected runs alternate with the
 * others, as a GPU's clocks change over time.
 *
 * Rejects with a `TypeError` for wrong options and for no candidates. Rejects with the signal's
 * reason before the next run of the workload, and with any error of the workload. Destroys all
 * devices in the end.
 */
export async function tuneMemory(workload: Workload, options: TuneMemoryOptions): Promise<MemoryTuning> {
  refuseNoWorkload(workload);
  refuseUnknown(options, optionValues, "", ["newDevice"]);
  const { newDevice, redundancy = "none", runs = 5, signal, onProgress } = options;
  const time = options.time ?? ((device) => millisecondsOf(workload, device));
  const timed = (device: GPUDevice): Promise<number> => {
    signal?.throwIfAborted();
    return time(device);
  };
  const devices = new Devices();
  const deviceWith = async (memory: MemoryCode | "none") =>
    harden(devices.add(await newDevice()), { redundancy, memory, onFault: "throw" });
  signal?.throwIfAborted();
  try {
    const plain = await deviceWith("none");
    const candidates = options.candidates ?? (await candidatesFor(workload, plain, redundancy));
    const tried: TriedMemory[] = [];
    for (const [done, memory] of candidates.entries()) {
      onProgress?.({ done, total: candidates.length, doing: memory });
      const coded = await deviceWith(memory);
      const times = { plain: [] as number[], coded: [] as number[] };
      // The first run is not measured, as it compiles the kernels.
      for (let run = 0; run <= runs; run++) {
        const unprotected = await timed(plain);
        const milliseconds = await timed(coded);
        if (run === 0) continue;
        times.plain.push(unprotected);
        times.coded.push(milliseconds);
      }
      coded.destroy();
      tried.push({ memory, milliseconds: median(times.coded), unprotected: median(times.plain) });
    }
    tried.sort((a, b) => a.milliseconds / a.unprotected - b.milliseconds / b.unprotected);
    const [best] = tried;
    if (!best) throw new TypeError("there is no code to try");
    return { memory: best.memory, protected: best.milliseconds, unprotected: best.unprotected, tried };
  } finally {
    devices.destroy();
  }
}

/** Returns the codes to measure for a workload. Runs the workload once to get its kernels. */
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

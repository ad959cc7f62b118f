import { type ChoiceOptions, rankConfigurations } from "../../compiler/choice.ts";
import { type Configuration, describeConfiguration, type Structure } from "../../compiler/configurations.ts";
import { structureList } from "../../compiler/settings.ts";
import { aFunction, longWork, refuseUnknown, type Values, wholeFrom } from "../../diagnostics/options.ts";
import type { LongWork } from "../../diagnostics/progress.ts";
import type { KernelPolicy } from "../context/policy.ts";
import { harden } from "../harden.ts";
import { PassTimes } from "./passTimes.ts";
import { Devices, refuseNoWorkload, type Workload } from "./workload.ts";

/** The options of {@link tune}. */
export interface TuneOptions extends LongWork {
  /**
   * Creates a new device of the adapter that the workload will run on, with the feature
   * `timestamp-query`.
   */
  readonly newDevice: () => Promise<GPUDevice>;
  /**
   * The structures in which faults must be detected. Default: vector arithmetic, vector registers
   * and workgroup memory.
   */
  readonly cover?: readonly Structure[];
  /** The number of runs of each configuration. Default 5. */
  readonly runs?: number;
}

/** The options of `tune`, with their valid values. */
const optionValues: { readonly [Name in keyof Required<TuneOptions>]: Values } = {
  newDevice: aFunction,
  cover: structureList,
  runs: wholeFrom(1),
  ...longWork,
};

/** The measurements of one kernel. */
export interface TunedKernel {
  /** The label of the pipeline, or else the entry point. */
  readonly kernel: string;
  /** The cheapest configuration. */
  readonly configuration: Configuration;
  /** The median milliseconds of the passes that dispatch the kernel, in one run of the workload. */
  readonly protected: number;
  /** The same time in the unprotected runs in between. */
  readonly unprotected: number;
  /** The configurations that protect the kernel, the cheapest first. */
  readonly tried: readonly Tried[];
}

/** A measured configuration. */
export interface Tried extends Configuration {
  /** The median milliseconds under the configuration. */
  readonly milliseconds: number;
  /** The median milliseconds of the unprotected runs in between. */
  readonly unprotected: number;
}

/** The result of {@link tune}. */
export interface Tuning {
  /** The value for `Policy.kernels`. */
  readonly policies: Readonly<Record<string, KernelPolicy>>;
  /** The measurements of each kernel. */
  readonly kernels: readonly TunedKernel[];
}

/**
 * Measures the cheapest configuration for each kernel of a workload. The policy
 * `redundancy: "auto"` chooses by prediction instead. For each placement of replicas that covers
 * the structures, the workload runs in the most promising configurations. Configurations that wait
 * for other workgroups are left out. Unprotected runs alternate with the protected ones, as a GPU's
 * clocks change over time. The measured time is the GPU time of compute passes, so kernels that
 * share a pass get the same result.
 *
 * Rejects with a `TypeError` for wrong options and for devices without timestamps. Rejects with the
 * signal's reason before the next run of the workload, and with any error of the workload. Destroys
 * all devices in the end.
 */
export async function tune(workload: Workload, options: TuneOptions): Promise<Tuning> {
  refuseNoWorkload(workload);
  refuseUnknown(options, optionValues, "", ["newDevice"]);
  const { newDevice, cover = ["ALU", "VRF", "LDS"], runs = 5, signal, onProgress } = options;
  signal?.throwIfAborted();
  const devices = new Devices();
  try {
    const plain = devices.add(await newDevice());
    if (!plain.features.has("timestamp-query"))
      throw new TypeError("tuning needs the feature timestamp-query");
    const baseline = new TimedWorkload(workload, plain, signal);
    await baseline.run();
    const candidates = worthTrying(baseline.times.sources, { cover, features: plain.features });

    const tried = new Map<string, Tried[]>();
    for (const [done, configuration] of candidates.entries()) {
      onProgress?.({ done, total: candidates.length, doing: describeConfiguration(configuration) });
      const native = devices.add(await newDevice());
      const device = harden(native, { ...configuration, onFault: "throw" });
      // An unsuitable flavor for a kernel is skipped without a warning.
      device.belay.addEventListener("unprotected", (event) => event.preventDefault());
      const { times } = await inAlternation(baseline, new TimedWorkload(workload, device, signal), runs);
      const { kernels } = await device.belay.report();
      const isProtected = kernels.every(({ redundancy }) => redundancy !== "none");
      for (const kernel of times.kernels) {
        const [milliseconds, unprotected] = [times.medianOf(kernel), baseline.times.medianOf(kernel)];
        const own = kernels.find((each) => each.kernel === kernel || each.entryPoint === kernel);
        if (!milliseconds || !unprotected || !(own ? own.redundancy !== "none" : isProtected)) continue;
        tried.set(kernel, [...(tried.get(kernel) ?? []), { ...configuration, milliseconds, unprotected }]);
      }
      native.destroy();
    }
    return tuningOf(tried);
  } finally {
    devices.destroy();
  }
}

function tuningOf(tried: ReadonlyMap<string, readonly Tried[]>): Tuning {
  const kernels = [...tried].map(([kernel, measured]): TunedKernel => {
    const sorted = measured.toSorted((a, b) => costOf(a) - costOf(b));
    const { milliseconds, unprotected, ...configuration } = sorted[0]!;
    return { kernel, configuration, protected: milliseconds, unprotected, tried: sorted };
  });
  return {
    policies: Object.fromEntries(kernels.map(({ kernel, configuration }) => [kernel, configuration])),
    kernels,
  };
}

/**
 * Returns the most promising channel for each placement of replicas and each check, by the text of
 * each kernel. The text predicts the cost of channels well.
 */
function worthTrying(sources: Iterable<string>, options: ChoiceOptions): Configuration[] {
  const promising = new Map<string, Configuration>();
  for (const source of sources) {
    const places = new Set<string>();
    for (const { redundancy, check, channel, pairing } of rankConfigurations(source, options)) {
      const place = `${redundancy} ${pairing} ${check}`;
      if (places.has(place) || (redundancy === "inter" && check === "store")) continue;
      places.add(place);
      promising.set(`${place} ${channel}`, { redundancy, check, channel, pairing });
    }
  }
  return [...promising.values()];
}

const costOf = ({ milliseconds, unprotected }: Tried) => milliseconds / unprotected;

/** A workload on a device, with the times of its passes. */
class TimedWorkload {
  readonly times: PassTimes;
  readonly #run: () => Promise<unknown>;

  constructor(workload: Workload, device: GPUDevice, signal: AbortSignal | undefined) {
    this.times = new PassTimes(device);
    this.#run = () => {
      signal?.throwIfAborted();
      return workload(device);
    };
  }

  async run(): Promise<void> {
    await this.#run();
    await this.times.endRun();
  }
}

/**
 * Runs both workloads alternately. The first run of each is not measured, as it compiles the
 * kernels.
 */
async function inAlternation(
  baseline: TimedWorkload,
  other: TimedWorkload,
  runs: number,
): Promise<TimedWorkload> {
  for (let run = 0; run <= runs; run++) {
    for (const each of [baseline, other]) {
      await each.run();
      if (run === 0) each.times.restart();
    }
  }
  return other;
}

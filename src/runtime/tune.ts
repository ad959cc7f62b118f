import { type ChoiceOptions, rankConfigurations } from "../compiler/choice.ts";
import type { Configuration, Structure } from "../compiler/configurations.ts";
import { harden } from "./harden.ts";
import { PassTimes } from "./passTimes.ts";
import type { KernelPolicy } from "./policy.ts";
import type { Workload } from "./workload.ts";

export interface TuneOptions {
  /** A new device of the adapter that the workload is going to run on, with the feature `timestamp-query`. */
  readonly newDevice: () => Promise<GPUDevice>;
  /** The structures in which faults must be detected. Default vector arithmetic, vector registers and workgroup memory. */
  readonly cover?: readonly Structure[];
  /** Runs of each configuration. Default 5. */
  readonly runs?: number;
  readonly progress?: (doing: Configuration) => void;
}

/** What was measured for one kernel. */
export interface TunedKernel {
  readonly kernel: string;
  readonly configuration: Configuration;
  /** Median milliseconds of the passes that dispatch the kernel, in one run of the workload. */
  readonly protected: number;
  readonly unprotected: number;
  /** Configurations that protect the kernel, and how long they take. */
  readonly tried: readonly (Configuration & { readonly milliseconds: number })[];
}

/** What to harden a device with. */
export interface Tuning {
  /** For `Policy.kernels`. */
  readonly policies: Readonly<Record<string, KernelPolicy>>;
  readonly kernels: readonly TunedKernel[];
}

/**
 * Measures which configuration costs least for each kernel of a workload: `redundancy: "auto"`, by measurement. Runs the
 * workload unprotected and, for each place where replicas can stand and that covers what is asked for, in the configurations
 * that promise most of its kernels and never waits for other workgroups; GPU time of compute passes counts. Kernels that share a pass are judged together.
 *
 * Rejects when the devices can't write timestamps, and with whatever the workload rejects with.
 */
export async function tune(workload: Workload, options: TuneOptions): Promise<Tuning> {
  const { newDevice, cover = ["ALU", "VRF", "LDS"], runs = 5, progress } = options;
  const probe = await newDevice();
  if (!probe.features.has("timestamp-query")) throw new TypeError("tuning needs the feature timestamp-query");
  const unprotected = await timesOf(workload, probe, runs);
  const candidates = worthTrying(unprotected.sources, { cover, features: probe.features });
  probe.destroy();

  const tried = new Map<string, (Configuration & { milliseconds: number })[]>();
  for (const configuration of candidates) {
    progress?.(configuration);
    const native = await newDevice();
    const device = await harden(native, { ...configuration, onFault: "throw" });
    const times = await timesOf(workload, device, runs);
    const { kernels } = await device.belay.report();
    const isProtected = kernels.every(({ redundancy }) => redundancy !== "none");
    for (const kernel of times.kernels) {
      const milliseconds = times.medianOf(kernel);
      const own = kernels.find((each) => each.kernel === kernel || each.entryPoint === kernel);
      if (milliseconds === undefined || !(own ? own.redundancy !== "none" : isProtected)) continue;
      tried.set(kernel, [...(tried.get(kernel) ?? []), { ...configuration, milliseconds }]);
    }
    native.destroy();
  }
  const kernels = [...tried].map(([kernel, measured]): TunedKernel => {
    const sorted = measured.toSorted((a, b) => a.milliseconds - b.milliseconds);
    const { milliseconds, ...configuration } = sorted[0]!;
    return {
      kernel,
      configuration,
      protected: milliseconds,
      unprotected: unprotected.medianOf(kernel) ?? 0,
      tried: sorted,
    };
  });
  return {
    policies: Object.fromEntries(kernels.map(({ kernel, configuration }) => [kernel, configuration])),
    kernels,
  };
}

/**
 * For each place where replicas can stand, and each check, the channel that the text of each kernel promises most of: of
 * channels the text tells enough.
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

/** The times of a workload's passes; its first run only makes things ready. */
async function timesOf(workload: Workload, device: GPUDevice, runs: number): Promise<PassTimes> {
  const times = new PassTimes(device);
  for (let run = 0; run <= runs; run++) {
    await workload(device);
    await times.endRun();
    if (run === 0) times.restart();
  }
  return times;
}

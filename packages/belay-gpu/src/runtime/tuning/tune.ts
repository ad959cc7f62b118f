import { type ChoiceOptions, rankConfigurations } from "../../compiler/choice.ts";
import type { Configuration, Structure } from "../../compiler/configurations.ts";
import type { KernelPolicy } from "../context/policy.ts";
import { harden } from "../harden.ts";
import { PassTimes } from "./passTimes.ts";
import type { Workload } from "./workload.ts";

/** The options of {@link tune}. */
export interface TuneOptions {
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
  readonly progress?: (doing: Configuration) => void;
}

/** The measurements of one kernel. */
export interface TunedKernel {
  readonly kernel: string;
  readonly configuration: Configuration;
  /**
   * The median milliseconds of the passes that dispatch the kernel, in one run of the workload.
   * `unprotected` is measured in the unprotected runs in between.
   */
  readonly protected: number;
  readonly unprotected: number;
  /** The configurations that protect the kernel, the cheapest first. */
  readonly tried: readonly Tried[];
}

/** A measured configuration, with the median milliseconds under it and unprotected. */
export type Tried = Configuration & { readonly milliseconds: number; readonly unprotected: number };

/** The result of {@link tune}. */
export interface Tuning {
  /** The value for `Policy.kernels`. */
  readonly policies: Readonly<Record<string, KernelPolicy>>;
  readonly kernels: readonly TunedKernel[];
}

/**
 * Measures the cheapest configuration for each kernel of a workload. It is `redundancy: "auto"` by
 * measurement. For each placement of replicas that covers the structures, it runs the workload in
 * the most promising configurations, without those that wait for other workgroups. Unprotected runs
 * alternate with them, as a GPU's clocks change meanwhile. It measures the GPU time of compute
 * passes, so kernels that share a pass get the same result.
 *
 * Rejects with a `TypeError` if the devices lack timestamps, and with any error of the workload.
 */
export async function tune(workload: Workload, options: TuneOptions): Promise<Tuning> {
  const { newDevice, cover = ["ALU", "VRF", "LDS"], runs = 5, progress } = options;
  const plain = await newDevice();
  if (!plain.features.has("timestamp-query")) throw new TypeError("tuning needs the feature timestamp-query");
  const baseline = new TimedWorkload(workload, plain);
  await baseline.run();
  const candidates = worthTrying(baseline.times.sources, { cover, features: plain.features });

  const tried = new Map<string, Tried[]>();
  for (const configuration of candidates) {
    progress?.(configuration);
    const native = await newDevice();
    const device = await harden(native, { ...configuration, onFault: "throw" });
    // An unsuitable flavor for a kernel is skipped without a warning.
    device.belay.addEventListener("unprotected", (event) => event.preventDefault());
    const { times } = await inAlternation(baseline, new TimedWorkload(workload, device), runs);
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
  plain.destroy();
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

  constructor(workload: Workload, device: GPUDevice) {
    this.times = new PassTimes(device);
    this.#run = () => workload(device);
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

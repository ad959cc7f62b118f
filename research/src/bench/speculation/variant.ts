import type { ExecutionOptions, Statistics } from "belay-speculate/internal/engine/call/call";
import type { PhaseTimes } from "belay-speculate/internal/engine/device/phaseTimer";
import { Workspace } from "belay-speculate/internal/engine/device/workspace";
import { speculate } from "belay-speculate/internal/engine/speculate";
import type { Moved } from "belay-speculate/internal/engine/transfer/downloads";
import { type ResidentArray, resident } from "belay-speculate/internal/engine/transfer/resident";
import type { Argument } from "../../workloads/loops/loopProgram.ts";
import type { Attempt, TimedRuns } from "../measuring/attempt.ts";
import { GpuLoad } from "../measuring/gpuLoad.ts";
import type { Executor, ProgramRuns, SpeculatedFunction, WarmUp } from "./programRuns.ts";
import { type Kind, type Variant, variants } from "./variants.ts";

export interface Measured {
  /**
   * The wall-clock milliseconds of a call that moves the arrays to the GPU and back. Missing if
   * this is not measured, or no time was left.
   */
  readonly moved?: TimedRuns;
  /** The same with arrays that stay on the GPU. */
  readonly resident?: TimedRuns;
  readonly right: boolean;
  readonly rounds: number;
  /**
   * The misspeculated executions for each iteration; below, the iterations on the CPU for each
   * iteration.
   */
  readonly misspeculation: number;
  readonly onCpu: number;
  readonly plans: readonly string[];
  /** The counts of the first call, which compiles the kernels and knows nothing of the data. */
  readonly first: Pick<Measured, "rounds" | "misspeculation" | "plans"> & { readonly milliseconds: number };
  /** The milliseconds on the GPU's clock; null if it has no clock. */
  readonly phases: PhaseTimes | null;
  /** The bytes that a call with moved arrays transferred. */
  readonly bytes?: Moved;
  /** The bytes on the GPU besides the arrays. */
  readonly workingBytes: number;
}

/** The milliseconds of GPU work before each run. */
const loadTime = 15;

export interface VariantRuns {
  readonly programRuns: ProgramRuns;
  readonly run: SpeculatedFunction;
  /** The device, on which no loop was executed before. */
  readonly device: GPUDevice;
  readonly variant: Variant;
  readonly runs: number;
  readonly attempt: Attempt;
  readonly warmUp: WarmUp | undefined;
}

/** Measures one variant of a program. */
export async function measureVariant({
  programRuns,
  run,
  device: plain,
  variant,
  runs,
  attempt,
  warmUp,
}: VariantRuns): Promise<Measured> {
  const { kinds, options: own, harden } = variants[variant];
  const memory = countMemory(plain);
  const load = new GpuLoad(plain);
  const device = (await harden?.(plain)) ?? plain;
  const options: ExecutionOptions = { device, ...own };
  let statistics: Statistics[] = [];
  let first: Measured["first"] | undefined;
  await warmUp?.run(variant, (call) => speculate(call, { ...options, fallback: "never" }), attempt.signal);

  /** Times one call. Resident arrays are on the GPU before the call. */
  const once = async (kind: Kind, more: ExecutionOptions = {}): Promise<number> => {
    const { restored } = programRuns;
    const parameters = programRuns.next();
    const arrays = kind === "moved" ? [] : residentsOf(parameters);
    statistics = [];
    const execute: Executor = async (call) => {
      const result = await speculate(call, { ...options, ...more });
      statistics.push(result.statistics);
      attempt.signal.throwIfAborted();
      return result;
    };
    for (const [place, array] of arrays) {
      if (restored.includes(place)) array.hostChanged();
      await array.upload(Workspace.of(device), { uploaded: 0, downloaded: 0 });
    }
    await device.queue.onSubmittedWorkDone();
    await load.work(loadTime);
    const start = performance.now();
    await run(execute, parameters);
    const milliseconds = performance.now() - start;
    for (const [, array] of arrays) await array.read();
    programRuns.check();
    first ??= { milliseconds, ...countsOf(statistics, programRuns.iterations) };
    return milliseconds;
  };

  let measured: Measured | undefined;
  for (const kind of kinds) {
    const times = await attempt.times(runs, () => once(kind));
    const workingBytes = memory() - programRuns.bytes;
    const timings = kind === "resident" && plain.features.has("timestamp-query") && hasPhases(variant);
    if (timings) await once(kind, { timings });
    if (kind === "resident") for (const [, array] of residentsOf(programRuns.next())) array.release();
    const onCpu = sumOf(statistics, ({ onCpu }) => onCpu) / programRuns.iterations;
    measured = {
      ...countsOf(statistics, programRuns.iterations),
      onCpu,
      first: first!,
      workingBytes,
      phases: timings ? sumOfPhases(statistics) : null,
      // The measurements of resident arrays remain.
      ...measured,
      [kind]: times,
      ...(kind === "moved" && { bytes: bytesOf(statistics) }),
      right: programRuns.right,
    };
    attempt.kept = measured;
  }
  programRuns.end();
  return { ...measured!, right: programRuns.right };
}

const hasPhases = (variant: Variant) => variant === "default" || variant === "published";

/** Returns the arguments that are arrays, each with its place. */
function residentsOf(parameters: readonly Argument[]): [place: number, array: ResidentArray][] {
  return parameters.flatMap((each, place): [number, ResidentArray][] =>
    typeof each === "number" ? [] : [[place, resident(each)]],
  );
}

function countsOf(statistics: readonly Statistics[], iterations: number) {
  return {
    rounds: sumOf(statistics, ({ rounds }) => rounds),
    misspeculation: sumOf(statistics, ({ misspeculated }) => misspeculated) / iterations,
    plans: [...new Set(statistics.flatMap(({ plans }) => plans))],
  };
}

const sumOf = (statistics: readonly Statistics[], of: (each: Statistics) => number) =>
  statistics.reduce((total, each) => total + of(each), 0);

function bytesOf(statistics: readonly Statistics[]): Moved {
  return {
    uploaded: sumOf(statistics, ({ bytes }) => bytes.uploaded),
    downloaded: sumOf(statistics, ({ bytes }) => bytes.downloaded),
  };
}

function sumOfPhases(statistics: readonly Statistics[]): PhaseTimes {
  const all = statistics.flatMap(({ phases }) => (phases ? [phases] : []));
  const names = Object.keys(all[0] ?? {}) as (keyof PhaseTimes)[];
  return Object.fromEntries(
    names.map((name) => [name, all.reduce((sum, phases) => sum + phases[name], 0)]),
  ) as PhaseTimes;
}

/**
 * Returns a function that tells the most bytes that the device's storage buffers have had at once
 * since this call.
 */
export function countMemory(device: GPUDevice): () => number {
  let [bytes, most] = [0, 0];
  const createBuffer = device.createBuffer.bind(device);
  device.createBuffer = (descriptor) => {
    const buffer = createBuffer(descriptor);
    let size = (descriptor.usage & GPUBufferUsage.STORAGE) === 0 ? 0 : descriptor.size;
    bytes += size;
    most = Math.max(most, bytes);
    const destroy = buffer.destroy.bind(buffer);
    buffer.destroy = () => {
      bytes -= size;
      size = 0;
      destroy();
    };
    return buffer;
  };
  return () => most;
}

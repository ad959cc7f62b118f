import { runDefault } from "../speculation/defaultEngine.ts";
import type { Engine } from "../speculation/execution.ts";
import type { PhaseTimes } from "../speculation/phaseTimer.ts";
import { resident } from "../speculation/resident.ts";
import { type SpeculateOptions, type Statistics, speculate } from "../speculation/speculate.ts";
import { Workspace } from "../speculation/workspace.ts";
import type { Attempt, TimedRuns } from "./attempt.ts";
import { countMemory } from "./countMemory.ts";
import { GpuLoad } from "./gpuLoad.ts";
import type { ProgramRuns } from "./programRuns.ts";
import type { Executor, SpeculatedFunction } from "./speculatedFunction.ts";
import { canRunUnchecked, runUnchecked } from "./unchecked.ts";

/** The default engine, which checks again what earlier executions have proven. */
function withoutReuse(...[workspace, execution, { timings = false }]: Parameters<Engine<SpeculateOptions>>) {
  return runDefault(workspace, execution, { timings, reuse: false });
}

/** What executes the loops on the GPU. */
export const variants = {
  default: {},
  "no reuse": { engine: withoutReuse },
  published: { engine: "published" },
  "no localization": { engine: "published", published: { localization: false } },
  "no copy optimization": { engine: "published", published: { copyOptimization: false } },
  "no scheduling": { engine: "published", published: { scheduling: false } },
} as const satisfies Readonly<Record<string, SpeculateOptions>>;
export type Variant = keyof typeof variants | "unchecked";

export interface Measured {
  /** Wall-clock milliseconds of a call, with the arrays moved to the GPU and back; missing when there was no time left. */
  readonly moved?: TimedRuns;
  /** The same with arrays that stay on the GPU. */
  readonly resident: TimedRuns;
  readonly right: boolean;
  readonly rounds: number;
  /** Executions in vain, and iterations that the CPU executed, for each iteration. */
  readonly misspeculation: number;
  readonly onCpu: number;
  readonly plans: readonly string[];
  /** Of the first call, which compiles the kernels and knows nothing of the data. */
  readonly first: Pick<Measured, "rounds" | "misspeculation" | "plans"> & { readonly milliseconds: number };
  /** Milliseconds on the GPU's clock; null where it has no clock. */
  readonly phases: PhaseTimes | null;
  /** Bytes on the GPU besides the arrays. */
  readonly workingBytes: number;
}

/** Milliseconds for which the GPU works before each run. */
const loadTime = 40;
/** Calls after which JavaScript engines have compiled what executes loops. */
const warmCalls = 50;

/** A small program, executed once. */
export type WarmUp = (execute: Executor) => Promise<void>;

/** Measures one variant of a program on a device of its own, on which another one has been executed before. */
export async function measureVariant(
  programRuns: ProgramRuns,
  run: SpeculatedFunction,
  device: GPUDevice,
  variant: Variant,
  runs: number,
  attempt: Attempt,
  warmUp?: WarmUp,
): Promise<Measured> {
  const memory = countMemory(device);
  const options: SpeculateOptions = {
    device,
    ...(variant === "unchecked" ? { engine: unchecked } : variants[variant]),
  };
  let statistics: Statistics[] = [];
  let first: Measured["first"] | undefined;
  const load = new GpuLoad(device);
  for (let call = 0; warmUp && call < warmCalls; call++) {
    await warmUp((call) => speculate(call, { ...options, fallback: "never" }));
    attempt.signal.throwIfAborted();
  }

  /** One call; `keep` leaves the arrays on the GPU, where they are before. */
  const once = async (keep: boolean, more: SpeculateOptions = {}): Promise<number> => {
    const parameters = programRuns.next();
    const arrays = parameters.flatMap((each) => (keep && typeof each !== "number" ? [resident(each)] : []));
    for (const array of arrays) array.hostChanged();
    statistics = [];
    const execute: Executor = async (call) => {
      const result = await speculate(call, { ...options, ...more });
      statistics.push(result.statistics);
      attempt.signal.throwIfAborted();
      return result;
    };
    if (keep) {
      const moved = { uploaded: 0, downloaded: 0 };
      for (const array of arrays) await array.upload(Workspace.of(device), moved);
      await device.queue.onSubmittedWorkDone();
    }
    await load.work(loadTime);
    const start = performance.now();
    await run(execute, parameters);
    const milliseconds = performance.now() - start;
    for (const array of arrays) await array.read();
    programRuns.check();
    first ??= { milliseconds, ...countsOf(statistics, programRuns.iterations) };
    return milliseconds;
  };

  const residentTimes = await attempt.times(runs, () => once(true));
  const workingBytes = memory() - programRuns.bytes;
  const timings = device.features.has("timestamp-query") && variant !== "unchecked";
  if (timings) await once(true, { timings });
  const seen = statistics;
  for (const each of programRuns.next()) if (typeof each !== "number") resident(each).release();
  const onCpu = seen.reduce((sum, { onCpu }) => sum + onCpu, 0);
  const measured = {
    resident: residentTimes,
    right: programRuns.right,
    ...countsOf(seen, programRuns.iterations),
    onCpu: onCpu / programRuns.iterations,
    first: first!,
    phases: timings ? sumOfPhases(seen) : null,
    workingBytes,
  };
  attempt.kept = measured;
  return { ...measured, moved: await attempt.times(runs, () => once(false)), right: programRuns.right };
}

const unchecked: Exclude<SpeculateOptions["engine"], string | undefined> = async (workspace, execution) => {
  const { loop, count } = execution;
  if (!canRunUnchecked(loop)) throw new Error("iterations hand values on in variables");
  await runUnchecked(workspace, execution);
  return {
    executed: count,
    ended: false,
    rounds: 1,
    misspeculated: 0,
    onCpu: 0,
    plans: ["unchecked"],
    phases: null,
  };
};

function countsOf(statistics: readonly Statistics[], iterations: number) {
  const sum = (of: (each: Statistics) => number) => statistics.reduce((total, each) => total + of(each), 0);
  return {
    rounds: sum(({ rounds }) => rounds),
    misspeculation: sum(({ misspeculated }) => misspeculated) / iterations,
    plans: [...new Set(statistics.flatMap(({ plans }) => plans))],
  };
}

function sumOfPhases(statistics: readonly Statistics[]): PhaseTimes {
  const all = statistics.flatMap(({ phases }) => (phases ? [phases] : []));
  const names = Object.keys(all[0] ?? {}) as (keyof PhaseTimes)[];
  return Object.fromEntries(
    names.map((name) => [name, all.reduce((sum, phases) => sum + phases[name], 0)]),
  ) as PhaseTimes;
}

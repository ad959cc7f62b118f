/**
 * The measurements of Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014: speedups, their ablations, speculation on the
 * CPU beside it, misspeculation rates, and what each phase costs; and how all this grows.
 */
import type { PhaseTimes } from "../speculation/phaseTimer.ts";
import { resident } from "../speculation/resident.ts";
import { type SpeculateOptions, type Statistics, speculate } from "../speculation/speculate.ts";
import { Workspace } from "../speculation/workspace.ts";
import type { Argument, Executor, SpeculatedFunction } from "./speculatedFunction.ts";
import { speculateOnThreads } from "./threads/speculateOnThreads.ts";
import { summarize, type Times } from "./timing.ts";
import { canRunUnchecked, runUnchecked } from "./unchecked.ts";

/** A function with loops at one size. */
export interface LoopProgram {
  readonly iterations: number;
  inputs(): readonly Argument[];
  verify(left: readonly Argument[]): { readonly ok: boolean; readonly message: string };
}

export interface MeasuredProgram {
  readonly name: string;
  readonly size: string;
  readonly create: () => LoopProgram;
  /** Every loop in order. */
  readonly run: (...parameters: readonly Argument[]) => Promise<void>;
  readonly load: () => Promise<SpeculatedFunction>;
  /** Seconds of runs of the version in C; throws when there is none. */
  readonly compiled: (parameters: readonly Argument[], runs: number) => readonly number[];
}

export interface SpeculationOptions {
  readonly newDevice: () => Promise<GPUDevice>;
  readonly programs: readonly MeasuredProgram[];
  /** The sizes of one program, to see how costs grow. */
  readonly growth: readonly MeasuredProgram[];
  readonly runs: number;
  readonly threads: number;
  readonly progress: (doing: string) => void;
}

/** What executes the loops on the GPU. */
export const variants = {
  default: {},
  published: { engine: "published" },
  "no localization": { engine: "published", published: { localization: false } },
  "no copy optimization": { engine: "published", published: { copyOptimization: false } },
  "no scheduling": { engine: "published", published: { scheduling: false } },
} as const satisfies Readonly<Record<string, SpeculateOptions>>;
export type Variant = keyof typeof variants | "unchecked";

export interface Measured {
  /** Wall-clock milliseconds of a call, with the arrays moved to the GPU and back. */
  readonly moved: Times;
  /** The same with arrays that stay on the GPU. */
  readonly resident: Times;
  readonly right: boolean;
  readonly rounds: number;
  /** Executions in vain, and iterations that the CPU executed, for each iteration. */
  readonly misspeculation: number;
  readonly onCpu: number;
  readonly plans: readonly string[];
  /** Milliseconds on the GPU's clock; null where it has no clock. */
  readonly phases: PhaseTimes | null;
  /** Bytes on the GPU besides the arrays. */
  readonly workingBytes: number;
}

export interface Failed {
  readonly failed: string;
}

export interface SpeculationProgram {
  readonly name: string;
  readonly size: string;
  readonly iterations: number;
  readonly javascript: Times;
  readonly c: Times | Failed;
  readonly threads: (Times & { readonly misspeculation: number; readonly right: boolean }) | Failed;
  readonly variants: Partial<Readonly<Record<Variant, Measured | Failed>>>;
}

export interface SpeculationResult {
  readonly ok: boolean;
  readonly programs: readonly SpeculationProgram[];
  readonly growth: readonly SpeculationProgram[];
}

/** Measures every program. A variant that fails or is wrong is told, and makes the result not `ok`. */
export async function measureSpeculation(options: SpeculationOptions): Promise<SpeculationResult> {
  const measure = async (programs: readonly MeasuredProgram[], chosen: readonly Variant[]) => {
    const results: SpeculationProgram[] = [];
    for (const program of programs) results.push(await measureProgram(program, chosen, options));
    return results;
  };
  const programs = await measure(options.programs, [
    ...(Object.keys(variants) as (keyof typeof variants)[]),
    "unchecked",
  ]);
  const growth = await measure(options.growth, ["default", "published", "unchecked"]);
  return { ok: [...programs, ...growth].every(isRight), programs, growth };
}

/** Whether all results were right; that of a loop without checks, which nothing promises, does not count. */
export function isRight({ threads, variants }: SpeculationProgram): boolean {
  const promised = Object.entries(variants).filter(([variant]) => variant !== "unchecked");
  return [threads, ...promised.map(([, measured]) => measured)].every(
    (measured) => "right" in measured && measured.right,
  );
}

async function measureProgram(
  { name, size, create, run, load, compiled }: MeasuredProgram,
  chosen: readonly Variant[],
  { newDevice, runs, threads, progress }: SpeculationOptions,
): Promise<SpeculationProgram> {
  const program = create();
  const doing = (what: string) => progress(`${name}, ${size}: ${what}`);
  const attempt = async <T>(what: string, work: () => Promise<T>): Promise<T | Failed> => {
    doing(what);
    try {
      return await work();
    } catch (error) {
      return { failed: (error as { message?: string }).message ?? String(error) };
    }
  };

  doing("JavaScript");
  const javascript = await times(runs, async () => {
    const parameters = program.inputs();
    return timed(() => run(...parameters));
  });
  const c = await attempt("C", async () =>
    summarize(compiled(program.inputs(), runs).map((seconds) => 1000 * seconds)),
  );
  const loaded = load();
  const onThreads = await attempt("threads", async () =>
    measureThreads(program, await loaded, threads, runs),
  );
  const measured: Partial<Record<Variant, Measured | Failed>> = {};
  for (const variant of chosen) {
    measured[variant] = await attempt(variant, async () => {
      const device = await newDevice();
      try {
        return await measureVariant(program, await loaded, device, variant, runs);
      } finally {
        device.destroy();
      }
    });
  }
  return {
    name,
    size,
    iterations: program.iterations,
    javascript,
    c,
    threads: onThreads,
    variants: measured,
  };
}

async function measureThreads(
  program: LoopProgram,
  run: SpeculatedFunction,
  threads: number,
  runs: number,
): Promise<Times & { misspeculation: number; right: boolean }> {
  let right = true;
  let misspeculated = 0;
  const measured = await times(runs, async () => {
    const parameters = program.inputs();
    // Only what the loops take: starting threads and copying to shared memory is left out.
    let milliseconds = 0;
    misspeculated = 0;
    await run(async (call) => {
      const carried = { ...call.carried };
      const reductions = { ...call.reductions };
      const result = await speculateOnThreads(
        call.loop,
        { ...withoutResidents(call), carried, reductions },
        threads,
      );
      milliseconds += result.milliseconds;
      misspeculated += result.misspeculated;
      const { executed: next, ended } = result;
      return { carried, reductions, ended, next, statistics: {} as Statistics };
    }, parameters);
    right &&= program.verify(parameters).ok;
    return milliseconds;
  });
  return { ...measured, misspeculation: misspeculated / program.iterations, right };
}

/** Arrays as `speculateOnThreads` wants them. */
function withoutResidents({ arrays, ...call }: Parameters<Executor>[0]) {
  return { ...call, arrays: arrays as Readonly<Record<string, Exclude<Argument, number>>> };
}

async function measureVariant(
  program: LoopProgram,
  run: SpeculatedFunction,
  device: GPUDevice,
  variant: Variant,
  runs: number,
): Promise<Measured> {
  const memory = countMemory(device);
  const options: SpeculateOptions = {
    device,
    ...(variant === "unchecked" ? { engine: unchecked } : variants[variant]),
  };
  let statistics: Statistics[] = [];
  let right = true;

  /** One call; `keep` leaves the arrays on the GPU, where they are before. */
  const once = async (keep: boolean, more: SpeculateOptions = {}): Promise<number> => {
    const parameters = program.inputs();
    const arrays = new Map(
      parameters.flatMap((each) => (typeof each === "number" ? [] : [[each, resident(each)] as const])),
    );
    statistics = [];
    const execute: Executor = async (call) => {
      const kept = Object.entries(call.arrays).map(([name, array]) => [
        name,
        (keep && arrays.get(array as Exclude<Argument, number>)) || array,
      ]);
      const result = await speculate({ ...call, arrays: Object.fromEntries(kept) }, { ...options, ...more });
      statistics.push(result.statistics);
      return result;
    };
    if (keep) {
      const moved = { uploaded: 0, downloaded: 0 };
      for (const array of arrays.values()) array.upload(Workspace.of(device), moved);
      await device.queue.onSubmittedWorkDone();
    }
    const milliseconds = await timed(() => run(execute, parameters));
    if (keep) {
      for (const array of arrays.values()) await array.read();
      for (const array of arrays.values()) array.release();
    }
    right &&= program.verify(parameters).ok;
    return milliseconds;
  };

  const residentTimes = await times(runs, () => once(true));
  const arrayBytes = program
    .inputs()
    .reduce<number>((sum, each) => sum + (typeof each === "number" ? 0 : each.byteLength), 0);
  const workingBytes = memory() - arrayBytes;
  const moved = await times(runs, () => once(false));
  const timings = device.features.has("timestamp-query") && variant !== "unchecked";
  if (timings) await once(true, { timings });
  const sum = (of: (each: Statistics) => number) => statistics.reduce((total, each) => total + of(each), 0);
  return {
    moved,
    resident: residentTimes,
    right,
    rounds: sum(({ rounds }) => rounds),
    misspeculation: sum(({ misspeculated }) => misspeculated) / program.iterations,
    onCpu: sum(({ onCpu }) => onCpu) / program.iterations,
    plans: [...new Set(statistics.flatMap(({ plans }) => plans))],
    phases: timings ? sumOfPhases(statistics) : null,
    workingBytes,
  };
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

function sumOfPhases(statistics: readonly Statistics[]): PhaseTimes {
  const all = statistics.flatMap(({ phases }) => (phases ? [phases] : []));
  const names = Object.keys(all[0] ?? {}) as (keyof PhaseTimes)[];
  return Object.fromEntries(
    names.map((name) => [name, all.reduce((sum, phases) => sum + phases[name], 0)]),
  ) as PhaseTimes;
}

/** One run in advance, then so many that count. */
async function times(runs: number, run: () => Promise<number>): Promise<Times> {
  await run();
  const milliseconds: number[] = [];
  for (let i = 0; i < runs; i++) milliseconds.push(await run());
  return summarize(milliseconds);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** From now on tells the most bytes that the device's storage buffers had at once. */
function countMemory(device: GPUDevice): () => number {
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

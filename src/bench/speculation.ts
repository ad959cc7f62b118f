/**
 * The measurements of Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014: speedups, their ablations, speculation on the
 * CPU beside it, misspeculation rates, and what each phase costs; and how all this grows.
 */
import type { Statistics } from "../speculation/speculate.ts";
import { type Attempt, attempt, type Failed, type TimedRuns } from "./attempt.ts";
import { type LoopProgram, ProgramRuns } from "./programRuns.ts";
import type { Argument, Executor, SpeculatedFunction } from "./speculatedFunction.ts";
import { type Measured, measureVariant, type Variant, variants } from "./speculationVariant.ts";
import { speculateOnThreads } from "./threads/speculateOnThreads.ts";
import { summarize, type Times } from "./timing.ts";

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
  /** What is measured besides C and JavaScript; everything unless given. */
  readonly variants?: readonly (Variant | "threads")[] | undefined;
  /** What one variant of one program may take; it is given up, and counts as failed, when it takes longer. */
  readonly seconds: number;
  readonly progress: (doing: string) => void;
  /** Called with the result so far when a program is done. */
  readonly measured?: (program: SpeculationProgram, result: SpeculationResult) => Promise<void>;
}

export interface SpeculationProgram {
  readonly name: string;
  readonly size: string;
  readonly iterations: number;
  readonly javascript: TimedRuns | Failed;
  readonly c: Times | Failed;
  /** Missing where it was not to be measured, as the other variants. */
  readonly threads?: (TimedRuns & { readonly misspeculation: number; readonly right: boolean }) | Failed;
  readonly variants: Partial<Readonly<Record<Variant, Measured | Failed>>>;
}

export interface SpeculationResult {
  readonly ok: boolean;
  readonly programs: readonly SpeculationProgram[];
  readonly growth: readonly SpeculationProgram[];
}

/** Measures every program. A variant that fails, takes too long or is wrong is told, and makes the result not `ok`. */
export async function measureSpeculation(options: SpeculationOptions): Promise<SpeculationResult> {
  const programs: SpeculationProgram[] = [];
  const growth: SpeculationProgram[] = [];
  const result = () => ({ ok: [...programs, ...growth].every(isRight), programs, growth });
  const measure = async (
    into: SpeculationProgram[],
    program: MeasuredProgram,
    chosen: readonly Variant[],
  ) => {
    const measured = await measureProgram(program, chosen, options);
    into.push(measured);
    await options.measured?.(measured, result());
  };
  const all = [...(Object.keys(variants) as (keyof typeof variants)[]), "unchecked"] as const;
  for (const program of options.programs) await measure(programs, program, all);
  for (const program of options.growth) await measure(growth, program, ["default", "published", "unchecked"]);
  return result();
}

/** Whether all results were right; that of a loop without checks, which nothing promises, does not count. */
export function isRight({ javascript, threads, variants }: SpeculationProgram): boolean {
  const promised = Object.entries(variants).filter(([variant]) => variant !== "unchecked");
  return (
    !("failed" in javascript) &&
    [...(threads ? [threads] : []), ...promised.map(([, measured]) => measured)].every(
      (measured) => "right" in measured && measured.right,
    )
  );
}

async function measureProgram(
  { name, size, create, run, load, compiled }: MeasuredProgram,
  chosen: readonly Variant[],
  { newDevice, runs, threads, seconds, progress, variants: wanted }: SpeculationOptions,
): Promise<SpeculationProgram> {
  const doing = (what: string) => progress(`${name}, ${size}: ${what}`);
  doing("its data");
  const program = create();
  let programRuns = new ProgramRuns(program);
  const measure = async <T extends object>(
    what: string,
    work: (attempt: Attempt, programRuns: ProgramRuns) => Promise<T>,
  ): Promise<T | Failed> => {
    doing(what);
    programRuns.begin();
    const measured = await attempt(seconds, (attempt) => work(attempt, programRuns));
    // What was given up may still change its arrays.
    if ("failed" in measured) programRuns = new ProgramRuns(program);
    return measured;
  };

  const javascript = await measure("JavaScript", (attempt, programRuns) =>
    attempt.times(runs, () => {
      const parameters = programRuns.next();
      return timed(() => run(...parameters));
    }),
  );
  const c = await measure("C", async (_, programRuns) =>
    summarize(compiled(programRuns.next(), runs).map((seconds) => 1000 * seconds)),
  );
  const loaded = load();
  const isWanted = (variant: Variant | "threads") => wanted?.includes(variant) ?? true;
  const onThreads = isWanted("threads")
    ? await measure("threads", async (attempt, programRuns) =>
        measureThreads(programRuns, await loaded, threads, runs, attempt),
      )
    : undefined;
  const measured: Partial<Record<Variant, Measured | Failed>> = {};
  for (const variant of chosen.filter(isWanted)) {
    measured[variant] = await measure(variant, async (attempt, programRuns) => {
      const device = await newDevice();
      attempt.signal.addEventListener("abort", () => device.destroy());
      try {
        return await measureVariant(programRuns, await loaded, device, variant, runs, attempt);
      } finally {
        device.destroy();
      }
    });
  }
  const { iterations } = program;
  const besides = onThreads ? { threads: onThreads } : {};
  return { name, size, iterations, javascript, c, ...besides, variants: measured };
}

async function measureThreads(
  programRuns: ProgramRuns,
  run: SpeculatedFunction,
  threads: number,
  runs: number,
  attempt: Attempt,
): Promise<TimedRuns & { misspeculation: number; right: boolean }> {
  let misspeculated = 0;
  const measured = await attempt.times(runs, async () => {
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
        attempt.signal,
      );
      milliseconds += result.milliseconds;
      misspeculated += result.misspeculated;
      const { executed: next, ended } = result;
      return { carried, reductions, ended, next, statistics: {} as Statistics };
    }, programRuns.next());
    programRuns.check();
    return milliseconds;
  });
  const { iterations, right } = programRuns;
  return { ...measured, misspeculation: misspeculated / iterations, right };
}

/** Arrays as `speculateOnThreads` wants them. */
function withoutResidents({ arrays, ...call }: Parameters<Executor>[0]) {
  return { ...call, arrays: arrays as Readonly<Record<string, Exclude<Argument, number>>> };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

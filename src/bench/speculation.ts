/**
 * The measurements of Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014: speedups, their ablations, speculation on the
 * CPU beside it, misspeculation rates, and what each phase costs; and how all this grows.
 */
import { setTimeout } from "node:timers/promises";
import type { Statistics } from "../speculation/speculate.ts";
import { type Attempt, attempt, type Failed, type TimedRuns } from "./attempt.ts";
import { type LoopProgram, ProgramRuns } from "./programRuns.ts";
import type { Argument, Executor, SpeculatedFunction } from "./speculatedFunction.ts";
import { type Measured, measureVariant, type Variant, variants } from "./speculationVariant.ts";
import { speculateOnThreads } from "./threads/speculateOnThreads.ts";
import { summarize, type Times } from "./timing.ts";

/** Milliseconds before each run in JavaScript: without them, a short loop takes less than half as long. */
const pause = 10;

export interface MeasuredProgram {
  readonly name: string;
  readonly size: string;
  readonly create: () => LoopProgram;
  /** Every loop in order. */
  readonly run: (...parameters: readonly Argument[]) => Promise<void>;
  readonly load: () => Promise<SpeculatedFunction>;
  /**
   * Seconds of runs of the version in C; throws when there is none. Missing where only growth is to be seen: neither C nor threads are measured
   * then.
   */
  readonly compiled?: (parameters: readonly Argument[], runs: number) => readonly number[];
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
  /** What one variant of one program may take; it is given up, with what there is of it, when it takes longer. */
  readonly seconds: number;
  /** Milliseconds after which nothing further is begun. */
  readonly timeLimit?: number;
  /** What was measured before, and is not measured again. */
  readonly earlier?: Pick<SpeculationResult, "programs" | "growth">;
  readonly progress: (doing: string) => void;
  /** A small program that is executed before each variant, so that the engine itself is as fast as in a program that has run for some time. */
  readonly warmUp?: MeasuredProgram;
  /** Called with the result so far whenever there is more of it. */
  readonly save?: (result: SpeculationResult) => Promise<void>;
  /** Called when a program is done. */
  readonly measured?: (program: SpeculationProgram) => void;
}

export interface SpeculationProgram {
  readonly name: string;
  readonly size: string;
  readonly iterations: number;
  /** These and the variants are missing where they were not to be measured, or there was no time left. */
  readonly javascript?: TimedRuns | Failed;
  readonly c?: Times | Failed;
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
  const { earlier, timeLimit = Infinity } = options;
  const [programs, growth] = [[...(earlier?.programs ?? [])], [...(earlier?.growth ?? [])]];
  const result = () => ({ ok: [...programs, ...growth].every(isRight), programs, growth });
  const end = performance.now() + timeLimit;
  const measure = async (
    into: SpeculationProgram[],
    program: MeasuredProgram,
    chosen: readonly Variant[],
  ) => {
    const known = into.findIndex(({ name, size }) => name === program.name && size === program.size);
    const place = known < 0 ? into.length : known;
    const save = async (sofar: SpeculationProgram) => {
      into[place] = sofar;
      await options.save?.(result());
    };
    const before = into[place];
    await measureProgram(program, chosen, {
      ...options,
      before,
      save,
      isOver: () => performance.now() > end,
    });
    if (into[place] && into[place] !== before) options.measured?.(into[place]);
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
    !(javascript && "failed" in javascript) &&
    [...(threads ? [threads] : []), ...promised.map(([, measured]) => measured)].every(
      (measured) => "right" in measured && measured.right,
    )
  );
}

interface ProgramOptions extends Omit<SpeculationOptions, "save" | "measured"> {
  readonly before: SpeculationProgram | undefined;
  readonly save: (sofar: SpeculationProgram) => Promise<void>;
  readonly isOver: () => boolean;
}

/** Measures what is chosen and not there yet, and saves after each step. */
async function measureProgram(
  { name, size, create, run, load, compiled }: MeasuredProgram,
  chosen: readonly Variant[],
  options: ProgramOptions,
): Promise<void> {
  const {
    before,
    newDevice,
    runs,
    threads,
    seconds,
    progress,
    variants: wanted,
    save,
    isOver,
    warmUp,
  } = options;
  const doing = (what: string) => progress(`${name}, ${size}: ${what}`);
  const isWanted = (variant: Variant | "threads") => wanted?.includes(variant) ?? true;
  const isMissing = (known: object | undefined) => known === undefined || "failed" in known;
  const missing = chosen.filter((variant) => isWanted(variant) && isMissing(before?.variants[variant]));
  const misses = {
    javascript: isMissing(before?.javascript),
    c: compiled && before?.c === undefined,
    threads: compiled && isWanted("threads") && isMissing(before?.threads),
  };
  if (isOver() || !(misses.javascript || misses.c || misses.threads || missing.length > 0)) return;

  doing("its data");
  const program = create();
  let programRuns = new ProgramRuns(program);
  let sofar: SpeculationProgram = before ?? { name, size, iterations: program.iterations, variants: {} };
  const measure = async <T extends object>(
    what: string,
    work: (attempt: Attempt, programRuns: ProgramRuns) => Promise<T>,
    add: (measured: T | Failed) => Partial<SpeculationProgram>,
  ): Promise<void> => {
    if (isOver()) return;
    doing(what);
    programRuns.begin();
    let isGivenUp = false;
    const measured = await attempt<T>(seconds, (attempt) => {
      attempt.signal.addEventListener("abort", () => {
        isGivenUp = true;
      });
      return work(attempt, programRuns);
    });
    // What was given up may still change its arrays.
    if (isGivenUp || "failed" in measured) programRuns = new ProgramRuns(program);
    sofar = { ...sofar, ...add(measured) };
    await save(sofar);
  };

  if (compiled && misses.c) {
    await measure<Times>(
      "C",
      async (_, programRuns) => timesInC(compiled, programRuns, runs, seconds),
      (c) => ({ c }),
    );
  }
  if (misses.javascript) {
    const once = async (programRuns: ProgramRuns) => {
      const parameters = programRuns.next();
      // Caches and clocks of the CPU are as they are behind the load that keeps the GPU's clocks up.
      await setTimeout(pause);
      return timed(() => run(...parameters));
    };
    await measure<TimedRuns>(
      "JavaScript",
      (attempt, programRuns) => attempt.times(runs, () => once(programRuns)),
      (javascript) => ({ javascript }),
    );
  }
  const loaded = load();
  loaded.catch(() => {});
  const warm = warmUp && (await warmUp.load());
  const small = warmUp?.create();
  for (const variant of missing) {
    await measure<Measured>(
      variant,
      async (attempt, programRuns) => {
        const device = await newDevice();
        attempt.signal.addEventListener("abort", () => device.destroy());
        try {
          return await measureVariant(
            programRuns,
            await loaded,
            device,
            variant,
            runs,
            attempt,
            warm && small && ((execute) => warm(execute, small.inputs())),
          );
        } finally {
          device.destroy();
        }
      },
      (measured) => ({ variants: { ...sofar.variants, [variant]: measured } }),
    );
  }
  if (misses.threads) {
    await measure<OnThreads>(
      "threads",
      async (attempt, programRuns) => measureThreads(programRuns, await loaded, threads, runs, attempt),
      (threads) => ({ threads }),
    );
  }
}

/** As many runs as fit into an eighth of the time, but one at least. */
function timesInC(
  compiled: Required<MeasuredProgram>["compiled"],
  programRuns: ProgramRuns,
  runs: number,
  seconds: number,
): Times {
  const [first] = compiled(programRuns.next(), 1) as [number];
  const more = Math.min(runs - 1, Math.floor(seconds / 8 / Math.max(first, 1e-9)));
  const times = more > 0 ? compiled(programRuns.next(), more) : [first];
  return summarize(times.map((seconds) => 1000 * seconds));
}

type OnThreads = Extract<SpeculationProgram["threads"], { right: boolean }>;

async function measureThreads(
  programRuns: ProgramRuns,
  run: SpeculatedFunction,
  threads: number,
  runs: number,
  attempt: Attempt,
): Promise<OnThreads> {
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

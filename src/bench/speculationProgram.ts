/** One program with loops: in C, in JavaScript, on the GPU in every variant, and on threads. */
import { type Attempt, attempt, type Failed, type TimedRuns } from "./attempt.ts";
import { type CompiledRuns, inC, inJavaScript } from "./inOrder.ts";
import { onThreads, type ThreadTimes } from "./onThreads.ts";
import { type LoopProgram, ProgramRuns } from "./programRuns.ts";
import type { Argument, SpeculatedFunction } from "./speculatedFunction.ts";
import { type Measured, measureVariant } from "./speculationVariant.ts";
import type { Variant } from "./speculationVariants.ts";
import type { WarmUp } from "./warmUp.ts";

export interface MeasuredProgram {
  readonly name: string;
  readonly size: string;
  readonly create: () => LoopProgram;
  /** Missing where only growth on the GPU is to be seen. */
  readonly inOrder?: InOrder;
  readonly load: () => Promise<SpeculatedFunction>;
}

/** A program in order, which threads are held against as well. */
export interface InOrder {
  /** Every loop in order. */
  readonly run: (...parameters: readonly Argument[]) => Promise<void>;
  /** Runs the version in C so often, or fewer times where they take longer than so many seconds; throws when there is none. */
  readonly compiled: (parameters: readonly Argument[], runs: number, seconds: number) => CompiledRuns;
}

/** What was measured of a program. What was not to be measured is missing, and what there was no time for. */
export interface SpeculationProgram {
  readonly name: string;
  readonly size: string;
  readonly iterations: number;
  readonly javascript?: TimedRuns | Failed;
  readonly c?: TimedRuns | Failed;
  readonly threads?: ThreadTimes | Failed;
  /** Bytes of these arrays that one core copies in a millisecond, at its fastest. */
  readonly fastestCopy?: number;
  readonly variants: Partial<Readonly<Record<Variant, Measured | Failed>>>;
  /** Seconds that the steps of the measurement took, its preparations included. */
  readonly took: Readonly<Record<string, number>>;
}

export interface ProgramOptions {
  readonly newDevice: () => Promise<GPUDevice>;
  readonly runs: number;
  readonly threads: number;
  /** What is measured besides C and JavaScript. */
  readonly variants: readonly Variant[];
  readonly withThreads: boolean;
  /** What one measurement may take; it is given up, with what there is of it, when it takes longer. */
  readonly seconds: number;
  /** What was measured before, and is not measured again. */
  readonly before: SpeculationProgram | undefined;
  readonly warmUp: WarmUp | undefined;
  readonly progress: (doing: string) => void;
  readonly save: (sofar: SpeculationProgram) => Promise<void>;
  /** Whether nothing further is to be begun. */
  readonly isOver: () => boolean;
}

/** Measures what is asked for and not there yet, and saves after each step. */
export async function measureProgram(
  { name, size, create, inOrder, load }: MeasuredProgram,
  options: ProgramOptions,
): Promise<void> {
  const { before, newDevice, runs, threads, seconds, warmUp, progress, save, isOver } = options;
  const isMissing = (known: object | undefined) => known === undefined || "failed" in known;
  const missing = options.variants.filter(
    (variant) => isMissing(before?.variants[variant]) && !isNeedless(variant, before),
  );
  const misses = {
    javascript: inOrder && isMissing(before?.javascript),
    c: inOrder && before?.c === undefined,
    threads: inOrder && options.withThreads && isMissing(before?.threads),
  };
  if (isOver() || !(misses.javascript || misses.c || misses.threads || missing.length > 0)) return;

  const doing = (what: string) => progress(`${name}, ${size}: ${what}`);
  doing("its data");
  let began = performance.now();
  const program = create();
  let programRuns = new ProgramRuns(program);
  const known = before ?? { name, size, iterations: program.iterations, variants: {}, took: {} };
  let sofar: SpeculationProgram = { ...known, took: { ...known.took, "its data": secondsSince(began) } };
  const measure = async <T extends object>(
    what: string,
    work: (attempt: Attempt, programRuns: ProgramRuns) => Promise<T>,
    add: (measured: T | Failed) => Partial<SpeculationProgram>,
  ): Promise<void> => {
    if (isOver()) return;
    doing(what);
    began = performance.now();
    programRuns.begin();
    let isGivenUp = false;
    const measured = await attempt<T>(seconds, (attempt) => {
      attempt.signal.addEventListener("abort", () => {
        isGivenUp = true;
      });
      return work(attempt, programRuns);
    });
    const { fastestCopy } = programRuns;
    // What was given up may still change its arrays.
    if (isGivenUp || "failed" in measured) programRuns = new ProgramRuns(program);
    const took = { ...sofar.took, [what]: secondsSince(began) };
    sofar = { ...sofar, took, ...(fastestCopy > 0 && { fastestCopy }), ...add(measured) };
    await save(sofar);
  };

  if (inOrder && misses.c) {
    await measure<TimedRuns>(
      "C",
      async (attempt, programRuns) => inC(inOrder.compiled, programRuns, runs, attempt),
      (c) => ({ c }),
    );
  }
  if (inOrder && misses.javascript) {
    await measure<TimedRuns>(
      "JavaScript",
      (attempt, programRuns) => inJavaScript(inOrder.run, programRuns, runs, attempt),
      (javascript) => ({ javascript }),
    );
  }
  const loaded = load();
  loaded.catch(() => {});
  for (const variant of missing) {
    if (isNeedless(variant, sofar)) continue;
    await measure<Measured>(
      variant,
      async (attempt, programRuns) => {
        const device = await newDevice();
        attempt.signal.addEventListener("abort", () => device.destroy());
        try {
          return await measureVariant({
            ...{ programRuns, run: await loaded, device, variant, runs, attempt, warmUp },
          });
        } finally {
          device.destroy();
        }
      },
      (measured) => ({ variants: { ...sofar.variants, [variant]: measured } }),
    );
  }
  if (misses.threads) {
    await measure<ThreadTimes>(
      "threads",
      async (attempt, programRuns) => onThreads(programRuns, await loaded, threads, runs, attempt),
      (threads) => ({ threads }),
    );
  }
}

/** Without reuse, the default engine is another one only where it had proven something. */
function isNeedless(variant: Variant, known: SpeculationProgram | undefined): boolean {
  const measured = known?.variants.default;
  return variant === "no reuse" && !!measured && "plans" in measured && !measured.plans.includes("proven");
}

const secondsSince = (start: number) => (performance.now() - start) / 1000;

/** One program with loops: in C, in JavaScript, on the GPU in every variant, and on threads. */

import type { Argument, LoopProgram } from "../../workloads/loops/loopProgram.ts";
import { type Attempt, attempt, type Failed, type TimedRuns } from "../measuring/attempt.ts";
import { type CompiledRuns, inC, inJavaScript } from "./inOrder.ts";
import { onThreads, type ThreadTimes } from "./onThreads.ts";
import { ProgramRuns, type SpeculatedFunction, type WarmUp } from "./programRuns.ts";
import { type Measured, measureVariant } from "./variant.ts";
import type { Variant } from "./variants.ts";

export interface SpeculatedProgram {
  readonly name: string;
  readonly size: string;
  readonly create: () => LoopProgram;
  /** The versions in order; missing if only growth on the GPU is measured. */
  readonly inOrder?: InOrder;
  readonly load: () => Promise<SpeculatedFunction>;
}

/** A program in order, a reference for threads too. */
export interface InOrder {
  /** Runs every loop in order. */
  readonly run: (...parameters: readonly Argument[]) => Promise<void>;
  /**
   * Runs the version in C `runs` times, or fewer times if they take longer than `seconds`. Throws
   * when there is none.
   */
  readonly compiled: (parameters: readonly Argument[], runs: number, seconds: number) => CompiledRuns;
}

/**
 * The measurements of a program. Those that were not requested, or had no time left, are missing.
 */
export interface SpeculationProgram {
  readonly name: string;
  readonly size: string;
  readonly iterations: number;
  readonly javascript?: TimedRuns | Failed;
  readonly c?: TimedRuns | Failed;
  readonly threads?: ThreadTimes | Failed;
  /** The bytes of these arrays that one core copies in a millisecond, at its fastest. */
  readonly fastestCopy?: number;
  readonly variants: Partial<Readonly<Record<Variant, Measured | Failed>>>;
  /** The seconds of the measurement's steps, including their preparations. */
  readonly took: Readonly<Record<string, number>>;
}

export interface SpeculatedProgramOptions {
  readonly newDevice: () => Promise<GPUDevice>;
  readonly runs: number;
  readonly threads: number;
  /** The variants that are measured besides C and JavaScript. */
  readonly variants: readonly Variant[];
  readonly withThreads: boolean;
  /**
   * The time limit of one measurement. A longer one is abandoned, and its results so far are kept.
   */
  readonly seconds: number;
  /** The earlier measurements, which are not repeated. */
  readonly before: SpeculationProgram | undefined;
  readonly warmUp: WarmUp | undefined;
  readonly progress: (doing: string) => void;
  readonly save: (sofar: SpeculationProgram) => Promise<void>;
  /** Returns true if no further step may begin. */
  readonly isOver: () => boolean;
}

/** Measures the requested steps that are missing, and saves after each step. */
export async function measureProgram(
  measured: SpeculatedProgram,
  options: SpeculatedProgramOptions,
): Promise<void> {
  const { inOrder, load } = measured;
  const { before, runs, threads, isOver } = options;
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

  const steps = new ProgramSteps(measured, options);
  if (inOrder && misses.c) {
    await steps.take<TimedRuns>(
      "C",
      async (attempt, programRuns) => inC(inOrder.compiled, programRuns, runs, attempt),
      (c) => ({ c }),
    );
  }
  if (inOrder && misses.javascript) {
    await steps.take<TimedRuns>(
      "JavaScript",
      (attempt, programRuns) => inJavaScript(inOrder.run, programRuns, runs, attempt),
      (javascript) => ({ javascript }),
    );
  }
  const loaded = load();
  loaded.catch(() => {});
  for (const variant of missing) {
    if (isNeedless(variant, steps.sofar)) continue;
    await steps.take<Measured>(
      variant,
      async (attempt, programRuns) => onDevice({ programRuns, variant, attempt }, loaded, options),
      (result) => ({ variants: { ...steps.sofar.variants, [variant]: result } }),
    );
  }
  if (misses.threads) {
    await steps.take<ThreadTimes>(
      "threads",
      async (attempt, programRuns) => onThreads(programRuns, await loaded, threads, runs, attempt),
      (result) => ({ threads: result }),
    );
  }
}

/** The measurements of a program, which grow step by step. */
class ProgramSteps {
  readonly #program: LoopProgram;
  readonly #options: SpeculatedProgramOptions;
  readonly #title: string;
  #programRuns: ProgramRuns;
  #sofar: SpeculationProgram;

  constructor({ name, size, create }: SpeculatedProgram, options: SpeculatedProgramOptions) {
    this.#options = options;
    this.#title = `${name}, ${size}`;
    options.progress(`${this.#title}: its data`);
    const began = performance.now();
    this.#program = create();
    this.#programRuns = new ProgramRuns(this.#program);
    const { iterations } = this.#program;
    const known = options.before ?? { name, size, iterations, variants: {}, took: {} };
    this.#sofar = { ...known, took: { ...known.took, "its data": secondsSince(began) } };
  }

  get sofar(): SpeculationProgram {
    return this.#sofar;
  }

  /** Does `work` unless the time is over, adds the result of `add`, and saves. */
  async take<T extends object>(
    what: string,
    work: (attempt: Attempt, programRuns: ProgramRuns) => Promise<T>,
    add: (measured: T | Failed) => Partial<SpeculationProgram>,
  ): Promise<void> {
    const { isOver, progress, seconds, save } = this.#options;
    if (isOver()) return;
    progress(`${this.#title}: ${what}`);
    const began = performance.now();
    const programRuns = this.#programRuns;
    programRuns.begin();
    let isGivenUp = false;
    const measured = await attempt<T>(seconds, (attempt) => {
      attempt.signal.addEventListener("abort", () => {
        isGivenUp = true;
      });
      return work(attempt, programRuns);
    });
    const { fastestCopy } = programRuns;
    // An abandoned step may still change its arrays.
    if (isGivenUp || "failed" in measured) this.#programRuns = new ProgramRuns(this.#program);
    const took = { ...this.#sofar.took, [what]: secondsSince(began) };
    this.#sofar = { ...this.#sofar, took, ...(fastestCopy > 0 && { fastestCopy }), ...add(measured) };
    await save(this.#sofar);
  }
}

/** Measures a variant on a device of its own, which is destroyed after the attempt. */
async function onDevice(
  step: { readonly programRuns: ProgramRuns; readonly variant: Variant; readonly attempt: Attempt },
  loaded: Promise<SpeculatedFunction>,
  { newDevice, runs, warmUp }: SpeculatedProgramOptions,
): Promise<Measured> {
  const device = await newDevice();
  step.attempt.signal.addEventListener("abort", () => device.destroy());
  try {
    return await measureVariant({ ...step, run: await loaded, device, runs, warmUp });
  } finally {
    device.destroy();
  }
}

/**
 * Returns true if "no reuse" equals the default engine, which differs only if it had proven
 * something.
 */
function isNeedless(variant: Variant, known: SpeculationProgram | undefined): boolean {
  const measured = known?.variants.default;
  return variant === "no reuse" && !!measured && "plans" in measured && !measured.plans.includes("proven");
}

const secondsSince = (start: number) => (performance.now() - start) / 1000;

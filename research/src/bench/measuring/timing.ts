/** The timing of programs on devices, one run at a time. */

import type { Outputs, Prepared, VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import { median, quantileSorted } from "simple-statistics";
import { GpuTimer } from "./gpuTimer.ts";

/** The milliseconds of GPU time, over several runs. */
export interface Times {
  readonly median: number;
  /** The lower quartile; below, the upper one. */
  readonly lower: number;
  readonly upper: number;
}

export function summarize(milliseconds: readonly number[]): Times {
  const sorted = [...milliseconds].sort((a, b) => a - b);
  return {
    median: median(sorted),
    lower: quantileSorted(sorted, 0.25),
    upper: quantileSorted(sorted, 0.75),
  };
}

/**
 * The GPU time of a batch while a program keeps the GPU busy. Two batches are in progress at once,
 * which is more than the host takes to submit.
 */
const batchMilliseconds = 20;

/** A program that is ready on a device. */
export class TimedProgram implements Disposable {
  readonly #device: GPUDevice;
  readonly #prepared: Prepared;
  readonly #timer: GpuTimer;
  readonly #errors: string[] = [];
  readonly #listen = (event: GPUUncapturedErrorEvent) => {
    event.preventDefault();
    this.#errors.push(event.error.message);
  };

  /**
   * Prepares a program. The device must have the feature `timestamp-query`; disposal of this object
   * destroys it.
   */
  constructor(program: VerifiableProgram, device: GPUDevice) {
    this.#device = device;
    device.addEventListener("uncapturederror", this.#listen);
    this.#prepared = program.prepare(device);
    this.#timer = new GpuTimer(device);
  }

  /**
   * Restores the inputs that a run overwrites, runs once and returns the milliseconds of its
   * dispatches.
   */
  async run(): Promise<number> {
    this.#prepared.reset?.();
    const milliseconds = await this.#timer.time((encoder) => this.#prepared.encode(encoder));
    if (this.#errors.length > 0) throw new Error(this.#errors[0]);
    return milliseconds;
  }

  /** Submits a run, after it restores the inputs that a run overwrites. */
  submit(): void {
    this.submitMany(1);
  }

  /** Submits runs. `after` records further commands after each run. */
  submitMany(count: number, after?: (encoder: GPUCommandEncoder, run: number) => void): void {
    const { reset } = this.#prepared;
    let encoder = this.#device.createCommandEncoder();
    for (let run = 0; run < count; run++) {
      reset?.call(this.#prepared);
      this.#prepared.encode(encoder);
      after?.(encoder, run);
      // The commands of a reset must follow those of the run before it.
      if (!reset && run < count - 1) continue;
      this.#device.queue.submit([encoder.finish()]);
      encoder = this.#device.createCommandEncoder();
    }
  }

  /** Submits `count` runs and waits for them. */
  async runMany(count: number): Promise<void> {
    this.submitMany(count);
    await this.#device.queue.onSubmittedWorkDone();
    if (this.#errors.length > 0) throw new Error(this.#errors[0]);
  }

  /** Runs the program with no pause between runs until `isOver`; resolves to the number of runs. */
  async runUntil(isOver: () => boolean, millisecondsEach: number): Promise<number> {
    const batch = Math.max(1, Math.ceil(batchMilliseconds / millisecondsEach));
    let count = 0;
    let before: Promise<void> | undefined;
    while (!isOver()) {
      const next = this.runMany(batch);
      count += batch;
      await before;
      before = next;
    }
    await before;
    return count;
  }

  /** Returns the outputs of the last run. */
  read(): Promise<Outputs> {
    return this.#prepared.read();
  }

  [Symbol.dispose](): void {
    this.#prepared.destroy();
    this.#device.destroy();
  }
}

/**
 * Keeps the GPU busy for some time: its clocks stay low while work is short and far apart, and rise
 * under load.
 */
export async function warmUp(program: TimedProgram, milliseconds: number): Promise<void> {
  const end = performance.now() + milliseconds;
  for (let count = 1; performance.now() < end; count = Math.min(2 * count, 256)) await program.runMany(count);
}

/**
 * Runs two programs alternately, so that changes over time (clocks, other users of the machine)
 * affect both alike. Each runs once before, unmeasured.
 */
export async function alternate(
  runs: number,
  first: TimedProgram,
  second: TimedProgram,
): Promise<[Times, Times]> {
  const times: [number[], number[]] = [[], []];
  for (let i = -1; i < runs; i++) {
    const [a, b] = [await first.run(), await second.run()];
    if (i < 0) continue;
    times[0].push(a);
    times[1].push(b);
  }
  return [summarize(times[0]), summarize(times[1])];
}

/** Returns true if every byte of two runs' outputs is the same. */
export function sameBits(a: Outputs, b: Outputs): boolean {
  const bytes = (view: ArrayBufferView) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);
  return Object.keys(b).every((name) => bytes(a[name]!).equals(bytes(b[name]!)));
}

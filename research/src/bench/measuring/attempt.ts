import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { summarize, type Times } from "./timing.ts";

/** A measurement that came to nothing, and why. */
export interface Failed {
  readonly failed: string;
  /** Nothing is wrong, but the time was over: the machine is slow, or busy. */
  readonly late?: true;
}

/** Medians, and over how many runs. */
export interface TimedRuns extends Times {
  readonly runs: number;
}

/** Runs that count even where one of them takes long: fewer have no median to speak of. */
export const fewestRuns = 3;

/** A measurement under way, which ends when its time is over. */
export class Attempt {
  /** Aborted when the time is over: whatever goes on has to end then. */
  readonly signal: AbortSignal;
  /** What counts when the time is over before the end. */
  kept: unknown;
  /** Milliseconds for the runs of one measurement. */
  readonly patience: number;

  constructor(signal: AbortSignal, milliseconds: number) {
    this.signal = signal;
    this.patience = milliseconds / 4;
  }

  /**
   * One run in advance, then so many that count: fewer, but {@link fewestRuns} at least, where they
   * take longer than this part of {@link patience}; and one where it takes four times as long.
   */
  async times(runs: number, run: () => Promise<number>, part = 1): Promise<TimedRuns> {
    const milliseconds: number[] = [];
    // The run in advance may be verified, which takes long.
    await run();
    this.signal.throwIfAborted();
    const began = performance.now();
    const goesOn = () => {
      const patience = part * this.patience * (milliseconds.length < fewestRuns ? 4 : 1);
      return milliseconds.length === 0 || performance.now() - began < patience;
    };
    while (milliseconds.length < runs && goesOn()) {
      milliseconds.push(await run());
      this.signal.throwIfAborted();
    }
    return { ...summarize(milliseconds), runs: milliseconds.length };
  }
}

/**
 * Measures something in so many seconds at most. Resolves to what was kept of it, or why there is
 * nothing, when it fails or takes longer.
 */
export async function attempt<Result>(
  seconds: number,
  measure: (attempt: Attempt) => Promise<Result>,
): Promise<Result | Failed> {
  const over = new AbortController();
  const { signal } = over;
  const isOver = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  const timer = setTimeout(() => over.abort(new Error(`it took more than ${seconds} s`)), 1000 * seconds);
  const attempt = new Attempt(signal, 1000 * seconds);
  try {
    return await Promise.race([measure(attempt), isOver]);
  } catch (error) {
    if (signal.aborted && attempt.kept !== undefined) return attempt.kept as Result;
    return signal.aborted ? { failed: messageOf(signal.reason), late: true } : { failed: messageOf(error) };
  } finally {
    clearTimeout(timer);
  }
}

import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { summarize, type Times } from "./timing.ts";

/** A measurement without a result, and its reason. */
export interface Failed {
  readonly failed: string;
  /** True if nothing is wrong but the time ran out: the machine is slow, or busy. */
  readonly late?: true;
}

/** The median and quartiles, and the number of runs. */
export interface TimedRuns extends Times {
  readonly runs: number;
}

/** The least number of runs, even if one of them takes long: fewer give no useful median. */
export const fewestRuns = 3;

/** A measurement in progress, which ends when its time runs out. */
export class Attempt {
  /** The signal that aborts when the time runs out, upon which all work has to end. */
  readonly signal: AbortSignal;
  /** The result that counts if the time runs out before the end. */
  kept: unknown;
  /** The milliseconds for the runs of one measurement. */
  readonly patience: number;

  constructor(signal: AbortSignal, milliseconds: number) {
    this.signal = signal;
    this.patience = milliseconds / 4;
  }

  /**
   * Makes one run in advance, then `runs` that count. If they take longer than `part` of {@link
   * patience}, it makes fewer, but at least {@link fewestRuns}. It makes only one if that takes
   * four times as long.
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
 * Measures something in at most `seconds`. If that takes longer, it resolves to the result that was
 * kept. If `measure` fails, or nothing was kept, it resolves to the reason.
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

/** What loops take in order on one core: the baselines of speculation. */
import { setTimeout } from "node:timers/promises";
import type { Attempt, TimedRuns } from "../measuring/attempt.ts";
import { summarize } from "../measuring/timing.ts";
import type { Argument, ProgramRuns } from "./programRuns.ts";

/**
 * Milliseconds before each run in JavaScript: without them, a short loop takes less than half as
 * long.
 */
const pause = 10;
/** What a baseline in C takes of the time for runs. */
const part = 1 / 8;
/** And in JavaScript, with its pauses. */
const partWithPauses = 1 / 4;

/** What a version in C took, in seconds for each run, and what the last one left. */
export interface CompiledRuns {
  readonly seconds: readonly number[];
  readonly left: readonly Argument[];
}

/**
 * In C; rejected when the last run's result is wrong. `run` makes so many runs, or fewer where they
 * take longer than so many seconds.
 */
export function inC(
  run: (parameters: readonly Argument[], runs: number, seconds: number) => CompiledRuns,
  programRuns: ProgramRuns,
  runs: number,
  { patience }: Attempt,
): TimedRuns {
  const { seconds, left } = run(programRuns.next(), runs, (part * patience) / 1000);
  if (!programRuns.isRight(left)) throw new Error("the result is wrong");
  return { ...summarize(seconds.map((each) => 1000 * each)), runs: seconds.length };
}

/** In JavaScript; the first run is verified, and rejected when its result is wrong. */
export function inJavaScript(
  run: (...parameters: readonly Argument[]) => Promise<void>,
  programRuns: ProgramRuns,
  runs: number,
  attempt: Attempt,
): Promise<TimedRuns> {
  let isVerified = false;
  const once = async () => {
    const parameters = programRuns.next();
    // Caches and clocks of the CPU are as they are behind the load that keeps the GPU's clocks up.
    await setTimeout(pause);
    const start = performance.now();
    await run(...parameters);
    const milliseconds = performance.now() - start;
    if (!isVerified) programRuns.check();
    isVerified = true;
    if (!programRuns.right) throw new Error("the result is wrong");
    return milliseconds;
  };
  return attempt.times(runs, once, partWithPauses);
}

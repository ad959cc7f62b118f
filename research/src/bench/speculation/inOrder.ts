/** The times of loops in order on one core: the baselines of speculation. */
import { setTimeout } from "node:timers/promises";
import type { Argument } from "../../workloads/loops/loopProgram.ts";
import type { Attempt, TimedRuns } from "../measuring/attempt.ts";
import { summarize } from "../measuring/timing.ts";
import type { ProgramRuns } from "./programRuns.ts";

/**
 * The milliseconds before each run in JavaScript: without them, a short loop takes less than half
 * as long.
 */
const pause = 10;
/** The fraction of the time for runs that a baseline in C takes. */
const part = 1 / 8;
/** The fraction that one in JavaScript takes, with its pauses. */
const partWithPauses = 1 / 4;

/** The seconds of each run of a version in C, and the arguments after the last one. */
export interface CompiledRuns {
  readonly seconds: readonly number[];
  readonly left: readonly Argument[];
}

/**
 * Times the loops in C; throws when the last run's result is wrong. `run` makes `runs` runs, or
 * fewer if they take longer than `seconds`.
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

/**
 * Times the loops in JavaScript. It verifies the first run, and rejects when its result is wrong.
 */
export function inJavaScript(
  run: (...parameters: readonly Argument[]) => Promise<void>,
  programRuns: ProgramRuns,
  runs: number,
  attempt: Attempt,
): Promise<TimedRuns> {
  let isVerified = false;
  const once = async () => {
    const parameters = programRuns.next();
    // The pause leaves caches and clocks of the CPU as they are after the load that keeps the GPU's
    // clocks up.
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

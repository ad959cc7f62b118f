import type { Statistics } from "belay-speculate/internal/engine/call/call";
import type { Argument } from "../../workloads/loops/loopProgram.ts";
import type { Attempt, TimedRuns } from "../measuring/attempt.ts";
import type { Executor, ProgramRuns, SpeculatedFunction } from "./programRuns.ts";
import { speculateOnThreads } from "./threads/speculateOnThreads.ts";

export interface ThreadTimes extends TimedRuns {
  /** The misspeculated executions for each iteration. */
  readonly misspeculation: number;
  readonly right: boolean;
}

/**
 * Times speculation on threads of the CPU. Only the loops count: starting threads and copying to
 * shared memory are left out.
 */
export async function onThreads(
  programRuns: ProgramRuns,
  run: SpeculatedFunction,
  threads: number,
  runs: number,
  attempt: Attempt,
): Promise<ThreadTimes> {
  let misspeculated = 0;
  const measured = await attempt.times(runs, async () => {
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
  programRuns.end();
  const { iterations, right } = programRuns;
  return { ...measured, misspeculation: misspeculated / iterations, right };
}

/** Returns a call with arrays in the type that `speculateOnThreads` requires. */
function withoutResidents({ arrays, ...call }: Parameters<Executor>[0]) {
  return { ...call, arrays: arrays as Readonly<Record<string, Exclude<Argument, number>>> };
}

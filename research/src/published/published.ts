import type { Engine } from "belay-speculate/internal/engine/call/call";
import { PhaseTimer } from "belay-speculate/internal/engine/device/phaseTimer";
import type { Workspace } from "belay-speculate/internal/engine/device/workspace";
import type { EngineOutcome, LoopExecution } from "belay-speculate/internal/engine/rounds/execution";
import { hasOpenRounding } from "belay-speculate/internal/loops/analysis/openRounding";
import { emitPublished, type PublishedKernels } from "./kernels/kernels.ts";
import { tablesFit } from "./publishedMemory.ts";
import { type Pipelines, PublishedRounds } from "./publishedRounds.ts";
import { PublishedSchedule } from "./publishedSchedule.ts";

/**
 * The parts of the published design that are switched on; all of them by default. The figures
 * compare the design without each.
 */
export interface PublishedOptions {
  /**
   * True to run only misspeculated iterations again. Without it, the CPU runs the whole round
   * again.
   */
  readonly localization?: boolean;
  /**
   * True to copy only the written elements. Without it, whole arrays are copied before and after
   * each round.
   */
  readonly copyOptimization?: boolean;
  /**
   * True to choose the size of rounds by the results of the last ones. Without it, a round takes
   * all iterations that the device can hold.
   */
  readonly scheduling?: boolean;
  /**
   * The use of the CPU. `measured` leaves dense dependences to the CPU; `never` executes on the CPU
   * only iterations that the GPU cannot.
   */
  readonly fallback?: "measured" | "never";
  /** True to measure the time of each phase; needs the feature `timestamp-query`. */
  readonly timings?: boolean;
}

/**
 * Returns the published engine for the option `engine` of `speculate`, with parts of its design
 * left out.
 */
export function publishedEngine(
  left: Pick<PublishedOptions, "localization" | "copyOptimization" | "scheduling"> = {},
): Engine {
  return function published(workspace, execution, options) {
    return runPublished(workspace, execution, { ...options, ...left });
  };
}

/**
 * The number of consecutive, mostly misspeculated rounds after which the CPU takes as many
 * iterations as they had.
 */
const denseStreak = 4;

/**
 * Executes a loop with the published engine. Iterations of a round run at once. Those that share a
 * written element run again in order, and the others commit.
 *
 * Three changes make the design sound. Both sides of a conflict are marked. An iteration that runs
 * again gets its own version of each element. During recovery, the iterations that it makes wrong
 * are marked too.
 *
 * Source: Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014.
 */
export async function runPublished(
  workspace: Workspace,
  execution: LoopExecution,
  options: PublishedOptions = {},
): Promise<EngineOutcome> {
  const { localization = true, copyOptimization = true, scheduling = true, timings = false } = options;
  const { count } = execution;
  if (!tablesFit(workspace.device, execution)) {
    const { next, ended } = await execution.onCpu(0, count);
    return { executed: next, ended, rounds: 0, misspeculated: 0, onCpu: next, plans: [], phases: null };
  }
  const mayFallBack = options.fallback !== "never" && !hasOpenRounding(execution.loop);
  const kernels = emitPublished(execution.loop);
  const compiled = await workspace.pipelines.compile(execution.loop, Object.values(kernels));
  const names = Object.keys(kernels) as (keyof PublishedKernels)[];
  const pipelines = Object.fromEntries(names.map((name, place) => [name, compiled[place]!])) as Pipelines;
  const timer = timings ? new PhaseTimer(workspace) : null;
  const rounds = new PublishedRounds(workspace, execution, pipelines, timer);
  const { trackedKeys, mostStores, longest } = rounds.memory;
  const schedule = new PublishedSchedule(trackedKeys, mostStores, longest);
  let [executed, ended, dense] = [0, count === 0, 0];
  const totals = { rounds: 0, misspeculated: 0, onCpu: 0 };
  /**
   * The number of iterations that the CPU takes. It doubles each time the CPU has to take one, so
   * that moving data never costs more.
   */
  let chunk = 1;
  const onCpu = async (iterations: number) => {
    const result = await rounds.onCpu(executed, Math.min(count, executed + iterations));
    totals.onCpu += result.next - executed;
    executed = result.next;
    ended = result.ended;
  };
  try {
    rounds.begin();
    while (executed < count && !ended) {
      const size = Math.min(scheduling ? schedule.size : longest, count - executed);
      const state = await rounds.run(executed, size, { localization, copyOptimization });
      totals.rounds++;
      totals.misspeculated += localization || state.marked === 0 ? state.again : size;
      executed += state.stop;
      ended = state.ended !== 0;
      schedule.observe({ iterations: size, misspeculated: state.marked, breaks: state.breaks });
      dense = 2 * state.marked > size ? dense + 1 : 0;
      let forCpu = 0;
      if (state.bailed_out !== 0) {
        forCpu = chunk;
        chunk *= 2;
      } else if (!localization && state.marked > 0) forCpu = size;
      else if (dense >= denseStreak && mayFallBack) forCpu = denseStreak * size;
      if (forCpu > 0 && !ended) await onCpu(forCpu);
    }
    await rounds.end(executed);
    return { executed, ended, ...totals, plans: ["published"], phases: timer?.times ?? null };
  } finally {
    rounds.destroy();
    timer?.destroy();
  }
}

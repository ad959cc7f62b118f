import type { Moved } from "./downloads.ts";
import type { EngineOutcome } from "./execution.ts";
import type { Speculated } from "./speculate.ts";

/** What came of an execution on the CPU alone. */
export function onCpuAlone({ next, ended }: { next: number; ended: boolean }): EngineOutcome {
  const nothing = { rounds: 0, misspeculated: 0, plans: [], phases: null };
  return { ...nothing, executed: next, ended, onCpu: next };
}

/** What a program is told of an execution, which began at `start`. */
export function speculatedFrom(
  { executed, ended, rounds, misspeculated, onCpu, plans, phases }: EngineOutcome,
  { carried, reductions }: Pick<Speculated, "carried" | "reductions">,
  about: { readonly engine: string; readonly reason: string; readonly start: number; readonly moved: Moved },
): Speculated {
  const statistics = {
    engine: onCpu === executed && rounds === 0 ? "sequential" : about.engine,
    reason: about.reason,
    plans,
    rounds,
    committed: executed,
    misspeculated,
    onCpu,
    time: performance.now() - about.start,
    phases,
    bytes: about.moved,
  };
  return { carried, reductions, ended, next: executed, statistics };
}

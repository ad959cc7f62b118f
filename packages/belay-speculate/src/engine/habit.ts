import type { Loop } from "../loops/ir.ts";
import type { LoopData } from "../loops/sequential.ts";
import { History } from "./history.ts";
import { Resident } from "./resident.ts";
import { hasOtherCopies } from "./sharedMemory.ts";
import { runInSlices } from "./slices.ts";
import type { SpeculateCall, Speculated } from "./speculate.ts";
import { onCpuAlone, speculatedFrom } from "./speculatedFrom.ts";
import type { Workspace } from "./workspace.ts";

/** Calls in a row that are executed by habit; then one is decided about, as its data may be other than before. */
const period = 64;
/** How much longer than the call that it comes from one by habit may take, and milliseconds that are nobody's fault. */
const patience = { times: 2, more: 0.5 };

interface Habit {
  readonly workspace: Workspace;
  readonly count: number;
  readonly lengths: readonly number[];
  /** Which of the arrays stay on the device between loops. */
  readonly kept: readonly boolean[];
  readonly reason: string;
  /** Milliseconds after which it is asked again where the rest should be executed; infinite where no clock may decide. */
  readonly most: number;
  readonly left: number;
}

const habits = new WeakMap<Loop, Habit>();

/** The CPU executed all of a call, in so many milliseconds: infinitely many where that decides nothing. */
export function becomeHabit(
  workspace: Workspace,
  { loop, arrays, count }: SpeculateCall,
  reason: string,
  milliseconds: number,
): void {
  const given = loop.arrays.map(({ name }) => arrays[name]!);
  const lengths = given.map(({ length }) => length);
  const kept = given.map((array) => array instanceof Resident);
  const most = patience.times * milliseconds + patience.more;
  habits.set(loop, { workspace, count, lengths, kept, reason, most, left: period });
}

/**
 * Executes a call on the CPU at once, with as little as can be around it, where the last one like it was left to the CPU: one of as many
 * iterations on arrays of the same lengths, of which the host has everything. Null where it must be asked first; otherwise what came of it,
 * which is the beginning only where it took longer than expected. Arrays that stay on the device are given as `Resident`s.
 */
export function byHabit(workspace: Workspace, call: SpeculateCall): Speculated | null {
  const { loop, sequential, first, step, count } = call;
  const habit = habits.get(loop);
  if (!habit || habit.workspace !== workspace || habit.count !== count || !workspace.isIdle) return null;
  const arrays: Record<string, LoopData> = {};
  for (const [place, { name }] of loop.arrays.entries()) {
    const given = call.arrays[name]!;
    const kept = given instanceof Resident ? given : null;
    const host = given instanceof Resident ? given.host : given;
    if (host.length !== habit.lengths[place] || (kept !== null) !== habit.kept[place]) return null;
    if (kept?.isOnDevice || hasOtherCopies(host, kept)) return null;
    arrays[name] = host;
  }
  for (const { name, role } of loop.arrays) {
    const array = role === "read" ? null : call.arrays[name]!;
    if (array instanceof Resident) array.hostChanged();
  }
  const start = performance.now();
  const inputs = { ...call.inputs, $first: first, $step: step };
  const [carried, reductions] = [{ ...call.carried }, { ...call.reductions }];
  const run = (from: number, to: number) => sequential(arrays, inputs, carried, reductions, from, to);
  const isLate = () => performance.now() - start > habit.most;
  const reached = habit.most === Infinity ? run(0, count) : runInSlices(run, 0, count, () => !isLate());
  const isDone = reached.ended || reached.next === count;
  if (isDone && habit.left > 1) habits.set(loop, { ...habit, left: habit.left - 1 });
  else habits.delete(loop);
  const moved = { uploaded: 0, downloaded: 0 };
  const about = { engine: "sequential", reason: habit.reason, start, moved };
  const result = speculatedFrom(onCpuAlone(reached), { carried, reductions }, about);
  History.of(loop).observeCpu(null, result.statistics.time);
  return result;
}

/** The call that executes what is left of one. */
export function restOf(call: SpeculateCall, { next, carried, reductions }: Speculated): SpeculateCall {
  const { first, step, count } = call;
  return { ...call, carried, reductions, first: first + next * step, count: count - next };
}

/** What came of a call whose beginning was executed by itself. */
export function joined(beginning: Speculated, rest: Speculated): Speculated {
  const { next, statistics } = beginning;
  return {
    ...rest,
    next: next + rest.next,
    statistics: {
      ...rest.statistics,
      committed: next + rest.statistics.committed,
      onCpu: next + rest.statistics.onCpu,
      time: statistics.time + rest.statistics.time,
    },
  };
}

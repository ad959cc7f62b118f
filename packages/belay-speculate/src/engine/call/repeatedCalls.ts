import type { LoopData } from "../../loops/javascript/sequential.ts";
import type { Workspace } from "../device/workspace.ts";
import { afterCpu, afterRepeat, type GivenArray, repeatedCall, repeats } from "../policy/placement.ts";
import { deviceCopies } from "../transfer/deviceCopies.ts";
import { Resident } from "../transfer/resident.ts";
import { onCpuAlone, type SpeculateCall, type Speculated, speculatedFrom } from "./call.ts";
import { runInSlices } from "./slices.ts";

/**
 * Lets calls like this one be executed at once, after the CPU executed all of it in `time`
 * milliseconds; infinite where no clock may decide.
 */
export function repeatFrom(workspace: Workspace, call: SpeculateCall, reason: string, time: number): void {
  workspace.profileOf(call.loop).repeated = repeatedCall(call.count, arraysOf(call), reason, time);
}

/**
 * Executes a call on the CPU at once, with as little as can be around it, where the last one like
 * it was left to the CPU: one of as many iterations on arrays of the same lengths, of which the
 * host has everything. Returns null where it has to be decided about; otherwise the result, which
 * is only a beginning where it took longer than expected. Arrays that stay on the device are given
 * as `Resident`s.
 */
export function executeAsBefore(workspace: Workspace, call: SpeculateCall): Speculated | null {
  const { loop, sequential, first, step, count } = call;
  const profile = workspace.profileOf(loop);
  const known = profile.repeated;
  if (!known || !workspace.isIdle || !repeats(known, count, arraysOf(call))) return null;
  const arrays: Record<string, LoopData> = {};
  for (const { name } of loop.arrays) {
    const given = call.arrays[name]!;
    const kept = given instanceof Resident ? given : null;
    const host = given instanceof Resident ? given.host : given;
    if (kept?.isOnDevice || deviceCopies.hasOthers(host, kept)) return null;
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
  const isLate = () => performance.now() - start > known.limit;
  const reached = known.limit === Infinity ? run(0, count) : runInSlices(run, 0, count, () => !isLate());
  profile.repeated = afterRepeat(known, reached.ended || reached.next === count);
  const moved = { uploaded: 0, downloaded: 0 };
  const about = { engine: "sequential", reason: known.reason, start, moved };
  const result = speculatedFrom(onCpuAlone(reached), { carried, reductions }, about);
  profile.timings = afterCpu(profile.timings, null, result.statistics.time);
  return result;
}

function arraysOf({ loop, arrays }: SpeculateCall): GivenArray[] {
  return loop.arrays.map(({ name }) => {
    const given = arrays[name]!;
    return { length: given.length, isKept: given instanceof Resident };
  });
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

import type { LoopData } from "../../loops/javascript/sequential.ts";
import type { Workspace } from "../device/workspace.ts";
import { afterCpu, afterRepeat, type GivenArray, repeatedCall, repeats } from "../policy/placement.ts";
import { deviceCopies } from "../transfer/deviceCopies.ts";
import { ResidentArray } from "../transfer/resident.ts";
import { onCpuAlone, type SpeculateCall, type Speculated, speculatedFrom } from "./call.ts";
import { runInSlices } from "./slices.ts";

/**
 * Lets the CPU execute similar later calls without a decision. The CPU executed all of this call in
 * `time` milliseconds. `time` is infinite if no clock may decide.
 */
export function repeatFrom(workspace: Workspace, call: SpeculateCall, reason: string, time: number): void {
  workspace.profileOf(call.loop).repeated = repeatedCall(call.count, arraysOf(call), reason, time);
}

/**
 * Executes a call on the CPU with the least overhead, if the last similar call was left to the CPU.
 * A similar call has the same number of iterations, on arrays of the same lengths. The host must
 * have all contents of the arrays. Returns null if the call needs a decision. Otherwise returns the
 * result, which covers only a beginning if the call took longer than expected. Arrays that stay on
 * the device are passed as `ResidentArray`s. `begin` is called before the first iteration.
 */
export function executeAsBefore(
  workspace: Workspace,
  call: SpeculateCall,
  begin: () => void,
): Speculated | null {
  const { loop, sequential, first, step, count } = call;
  const profile = workspace.profileOf(loop);
  const known = profile.repeated;
  if (!known || !workspace.isIdle || !repeats(known, count, arraysOf(call))) return null;
  const arrays: Record<string, LoopData> = {};
  for (const { name } of loop.arrays) {
    const given = call.arrays[name]!;
    const kept = given instanceof ResidentArray ? given : null;
    const host = given instanceof ResidentArray ? given.host : given;
    if (kept?.isOnDevice || deviceCopies.hasOthers(host, kept)) return null;
    arrays[name] = host;
  }
  begin();
  for (const { name, role } of loop.arrays) {
    const array = role === "read" ? null : call.arrays[name]!;
    if (array instanceof ResidentArray) array.hostChanged();
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
  profile.timings = afterCpu(profile.timings, null, result.statistics.milliseconds);
  return result;
}

function arraysOf({ loop, arrays }: SpeculateCall): GivenArray[] {
  return loop.arrays.map(({ name }) => {
    const given = arrays[name]!;
    return { length: given.length, isKept: given instanceof ResidentArray };
  });
}

/** Returns the call that executes the remaining iterations of a call. */
export function restOf(call: SpeculateCall, { next, carried, reductions }: Speculated): SpeculateCall {
  const { first, step, count } = call;
  return { ...call, carried, reductions, first: first + next * step, count: count - next };
}

/** Returns the result of a call whose beginning was executed separately. */
export function joined(beginning: Speculated, rest: Speculated): Speculated {
  const [one, other] = [beginning.statistics, rest.statistics];
  const { engine, reason } = one.rounds > 0 ? one : other;
  return {
    ...rest,
    next: beginning.next + rest.next,
    statistics: {
      ...other,
      engine,
      reason,
      plans: [...new Set([...one.plans, ...other.plans])],
      rounds: one.rounds + other.rounds,
      committed: one.committed + other.committed,
      misspeculated: one.misspeculated + other.misspeculated,
      onCpu: one.onCpu + other.onCpu,
      milliseconds: one.milliseconds + other.milliseconds,
      bytes: {
        uploaded: one.bytes.uploaded + other.bytes.uploaded,
        downloaded: one.bytes.downloaded + other.bytes.downloaded,
      },
    },
  };
}

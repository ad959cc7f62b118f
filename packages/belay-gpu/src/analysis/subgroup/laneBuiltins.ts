/** Computes the built-in values of the lanes of a subgroup. */
import { allLanes, eachLane, type LaneValue, laneCount, unknown } from "./laneValues.ts";

/** The index of the simulated workgroup: not the first, as that one is special in many kernels. */
const workgroup = 1;
/** The assumed number of workgroups. */
const workgroups = 2 ** 12;

/** Returns a built-in value for the lanes from index `first` on in a workgroup of size `x`, `y`. */
export function builtinValue(
  name: string,
  [x, y]: readonly [number, number, number],
  first: number,
): LaneValue {
  const index = eachLane((lane) => first + lane);
  const local = [
    eachLane((lane) => index[lane]! % x),
    eachLane((lane) => Math.floor(index[lane]! / x) % y),
    eachLane((lane) => Math.floor(index[lane]! / x / y)),
  ];
  switch (name) {
    case "local_invocation_index":
      return [index];
    case "local_invocation_id":
      return local;
    case "global_invocation_id":
      return local.map((lanes, i) => (i === 0 ? eachLane((lane) => workgroup * x + lanes[lane]!) : lanes));
    case "workgroup_id":
      return [workgroup, 0, 0].map(allLanes);
    case "num_workgroups":
      return [workgroups, workgroups, 1].map(allLanes);
    case "subgroup_invocation_id":
      return [eachLane((lane) => lane)];
    case "subgroup_size":
      return [allLanes(laneCount)];
    default:
      return unknown;
  }
}
